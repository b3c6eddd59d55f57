// SPDX-License-Identifier: GPL-2.0
/*
 * SRCC.  At the switch: as many flows are counted as there are, a rate is a share of the link, a
 * threshold is within its bounds, and who was told is told again in time.  At the sender: the limit
 * is what the strictest switch says, never beyond its link's rate, and ends; no more is sent than
 * that, and no packet waits for longer than the limit lasts.
 */
#include "fuzz.h"
#include "../../sch_sfc/srcc.h"
#include "../../tcp_bolt/cap.h"

#define STEPS	24
#define FLOWS	8	/* fewer than there are places for one hash */
#define LEN_MAX	65550

static struct sfc_srcc_cfg cfg_any(struct input *in)
{
	const u32 computed[] = { TC_SFC_SRCC_MEASURED, TC_SFC_SRCC_EQUATION };

	return (struct sfc_srcc_cfg){
		.threshold = take_once_in(in, 3) ? take_range(in, 1, TC_SFC_SRCC_MEASURED - 1) :
			     computed[take_below(in, 2)],
		.floor = take_range(in, 0, U32_MAX),
		.delay_ns = take_range(in, 1, 100 * NSEC_PER_MSEC),
		.window_ns = take_range(in, 1, U32_MAX),
	};
}

/* What a flow with the @excess is told: C / n, less at most fifteen sixteenths of it */
static u32 target(const struct sfc_srcc *s, const struct sfc_srcc_cfg *cfg,
		  const struct sfc_rate *r, u32 excess, u32 more)
{
	u32 kbps = sfc_srcc_kbps(s, cfg, r, excess), share = r->kbps / sfc_srcc_count(s);

	CHECK(kbps >= 1 && kbps <= max_t(u32, share, 1));
	CHECK(kbps >= share / SFC_SRCC_KEEPS);
	CHECK(sfc_srcc_kbps(s, cfg, r, excess - min(excess, more)) >= kbps);
	return kbps;
}

static void told(struct sfc_srcc_flow *f, const struct sfc_srcc_cfg *cfg, u32 kbps, u64 now)
{
	u64 half = max_t(u64, cfg->delay_ns, cfg->window_ns / 2);

	f->notified_ns = now;
	f->notified_kbps = kbps;
	CHECK(sfc_srcc_knows(f, cfg, kbps, now));
	CHECK(sfc_srcc_knows(f, cfg, 1, now + cfg->delay_ns - 1));
	CHECK(!sfc_srcc_knows(f, cfg, kbps, now + half));
	CHECK(!sfc_srcc_knows(f, cfg, kbps + max_t(u32, kbps >> SFC_SRCC_NEWS_SHIFT, 1),
			      now + cfg->delay_ns));
}

static void port(struct input *in)
{
	u64 now = take_range(in, 1, 1ULL << 60), hashes[FLOWS];
	struct sfc_srcc_cfg cfg = cfg_any(in);
	u32 i, period = 0, seen = 0, queue, qpfc, qth;
	static struct sfc_srcc s;
	struct sfc_srcc_flow *f;
	struct sfc_rate r;

	memset(&s, 0, sizeof(s));
	sfc_rate_set(&r, take_range(in, TC_SFC_RATE_MIN, TC_SFC_RATE_MAX));
	for (i = 0; i < FLOWS; i++)
		hashes[i] = (take_u64(in) & ~7ULL) + i + 1;
	for (i = 0; i < STEPS; i++) {
		u32 which = take_below(in, FLOWS);

		now += take_range(in, 0, 1ULL << take_below(in, 34));
		f = sfc_srcc_see(&s, &cfg, hashes[which], now);
		CHECK(f->hash == hashes[which]);
		if (s.period != period)
			seen = 0;
		period = s.period;
		seen |= 1U << which;
		CHECK(s.seen == (u32)__builtin_popcount(seen));
		CHECK(sfc_srcc_count(&s) >= s.seen && sfc_srcc_count(&s) <= FLOWS);

		queue = take_range(in, 0, U32_MAX);
		sfc_srcc_measure(&s, &cfg, queue, now);
		s.ports = take_below(in, 256);
		qpfc = take_range(in, 1, U32_MAX);
		qth = sfc_srcc_threshold(&s, &cfg, &r, qpfc, take_range(in, 1, 255));
		if (cfg.threshold < TC_SFC_SRCC_MEASURED) {
			CHECK(qth == cfg.threshold);
		} else {
			u32 room = qpfc / max_t(u32, s.ports, 1);

			CHECK(qth <= room && qth >= min(cfg.floor, room));
		}
		if (queue > qth)
			told(f, &cfg, target(&s, &cfg, &r, queue - qth, take_u64(in)), now);
	}
}

/* CNM of several switches, one after the other, and packets between them */
static void limit(struct input *in)
{
	u64 now = take_range(in, 1, 1ULL << 60), most = 0, kbps, begun, end, bits;
	struct bolt_cap cap = { };
	int i, j;

	for (i = 0; i < STEPS; i++) {
		now += take_range(in, 0, 1ULL << take_below(in, 32));
		if (!bolt_cap_left(&cap, now))
			most = 0;
		if (take_once_in(in, 3)) {
			u32 target = take_range(in, 1, U32_MAX), link = take_range(in, 0, U32_MAX);

			bolt_cap_set(&cap, now, take_below(in, 6), target, link, take_u64(in));
			most = max_t(u64, most, max(target, link));
			CHECK(bolt_cap_kbps(&cap, now) && bolt_cap_kbps(&cap, now) <= target);
			CHECK(bolt_cap_left(&cap, now) >= BOLT_CAP_LIFE * BOLT_CAP_RTT_MIN_NS);
			CHECK(bolt_cap_left(&cap, now) <=
			      (BOLT_CAP_LIFE + 32ULL) * BOLT_CAP_RTT_MAX_NS);
		}
		kbps = bolt_cap_kbps(&cap, now);
		CHECK(!kbps == !bolt_cap_left(&cap, now));
		CHECK(kbps <= most);
		CHECK(!bolt_cap_kbps(&cap, now + bolt_cap_left(&cap, now)));
		if (!kbps)
			continue;
		/*
		 * A burst, as TCP's pacing sends it, and retransmits that do not wait: behind it
		 * the flow has sent at most at the highest rate of that time.
		 */
		now = max(now, cap.next_ns);
		begun = now;
		end = now + bolt_cap_left(&cap, now);
		bits = 0;
		for (j = 0; j < 4 && bolt_cap_kbps(&cap, now); j++) {
			u32 len = take_range(in, 1, LEN_MAX);

			bolt_cap_sent(&cap, take_once_in(in, 4) ? begun : now, len);
			bits += len * 8ULL;
			CHECK(cap.next_ns <= end);
			now = max(now, cap.next_ns);
			CHECK(now >= end || bits <= div_u64((now - begun + 4) * most, 1000000) + 8);
		}
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	struct input in = input_begin(data, len);

	if (take_once_in(&in, 2))
		port(&in);
	else
		limit(&in);
	return 0;
}
