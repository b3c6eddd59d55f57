// SPDX-License-Identifier: GPL-2.0
/*
 * The switch's memory: what ports publish is within a 64th, no port takes more than its part; a
 * PAUSE frame is read as it was written, or refused; a neighbour that is told never starts too
 * early, nor is stopped for longer than it should; the watchdog lets nobody be stopped for long.
 */
#include "fuzz.h"
#include "../../sch_sfc/pfc.h"
#include "../../sch_sfc/share.h"

#define STEPS	64
#define PORTS	8

/* Ports admit by what they know of each other */
static void buffer(struct input *in)
{
	u32 ports = 1 + take_below(in, PORTS), size = take_range(in, 1500, U32_MAX / 2);
	u32 grain = sfc_buffer_grain(size, ports), i, p, len;
	u32 held[PORTS] = { }, published[PORTS] = { };
	s64 sum = 0, known = 0;

	for (i = 0; i < STEPS; i++) {
		u32 alpha = take_range(in, 1, TC_SFC_ALPHA_MAX);

		p = take_below(in, ports);
		if (take_once_in(in, 3)) {
			len = take_range(in, 0, held[p]);
			held[p] -= len;
			sum -= len;
		} else {
			len = take_range(in, 1, SFC_LEN_MAX);
			if (known + len > size ||
			    held[p] + (u64)len > sfc_buffer_limit(size, known, alpha))
				continue;
			held[p] += len;
			sum += len;
		}
		if (sfc_news(held[p], published[p], grain)) {
			known += (s64)held[p] - published[p];
			published[p] = held[p];
		}
		CHECK(llabs(sum - known) <= max_t(u32, size >> SFC_BUFFER_ERROR_SHIFT, ports));
		CHECK(sum <= size + (s64)max_t(u32, size >> SFC_BUFFER_ERROR_SHIFT, ports));
		CHECK(held[p] || !published[p]);
		known = max_t(s64, known, 0);
	}
}

static void frames(struct input *in)
{
	u8 p[SFC_PFC_FRAME], source[6];
	struct sfc_pfc_frame f, got;
	unsigned int i, len = take_below(in, sizeof(p));

	take_bytes(in, p, sizeof(p));
	if (sfc_pfc_parse(p, len, &got)) {
		CHECK(len >= SFC_PFC_BODY && p[0] == 1 && p[1] == 1 && got.vector == p[3]);
		for (i = 0; i < SFC_PFC_PRIOS; i++)
			CHECK(got.vector & 1U << i || !got.quanta[i]);
	}
	take_bytes(in, source, sizeof(source));
	f.vector = take_u8(in);
	for (i = 0; i < SFC_PFC_PRIOS; i++)
		f.quanta[i] = f.vector & 1U << i ? take_below(in, 65536) : 0;
	sfc_pfc_build(p, source, &f);
	CHECK(sfc_pfc_parse(p + SFC_PFC_HEAD, SFC_PFC_BODY, &got));
	CHECK(got.vector == f.vector && !memcmp(got.quanta, f.quanta, sizeof(f.quanta)));
	for (i = SFC_PFC_HEAD + SFC_PFC_BODY; i < SFC_PFC_FRAME; i++)
		CHECK(!p[i]);
}

/* A neighbour that hears each frame at once, and a switch that looks when it asked to */
static void xoff(struct input *in)
{
	u64 now = take_range(in, 1, 1ULL << 60), until = 0, again = 0, ask = 0, most, quantum;
	struct sfc_xoff t = { };
	struct sfc_rate r;
	bool full = false;
	int i, quanta;

	sfc_rate_set(&r, take_range(in, TC_SFC_RATE_MIN, TC_SFC_RATE_MAX));
	most = sfc_pfc_quanta_ns(&r, SFC_PFC_QUANTA_MAX);
	quantum = sfc_pfc_quanta_ns(&r, 2) + 2;
	for (i = 0; i < STEPS; i++) {
		u64 then = now + take_range(in, 0, 1ULL << take_below(in, 32));

		if (again && again < then) {
			now = again;
		} else {
			now = then;
			full ^= take_once_in(in, 4);
			if (take_once_in(in, 4))
				ask = max_t(u64, ask, now + take_range(in, 0, 1ULL << 32));
			t.ask_ns = ask;
		}
		quanta = sfc_xoff_next(&t, &r, full, now, &again);
		CHECK(quanta >= -1 && quanta <= (int)SFC_PFC_QUANTA_MAX);
		if (quanta >= 0)
			until = quanta ? now + sfc_pfc_quanta_ns(&r, quanta) : now;
		CHECK(!again || again > now);
		/* it knows, and will not forget before it is told again */
		CHECK(!full || until > now);
		CHECK(!full || (again && again <= until));
		CHECK(full || ask <= now || until > now);
		CHECK(ask <= max_t(u64, now, until) || full || (again && again <= until) ||
		      ask - until <= (ask >> 20) + quantum);
		/* and waits for no longer than it has to */
		CHECK(until <= now || full ||
		      until <= max_t(u64, ask, now) + quantum + most / 1024);
	}
}

/* Two priorities in a band */
static void heeded(struct input *in)
{
	u64 now = take_range(in, 1, 1ULL << 60), stuck = 0, ignored[2] = { }, free = 0;
	u64 stuck_ns = take_range(in, 1, U32_MAX), ignore_ns = take_range(in, 1, U32_MAX);
	struct sfc_paused p[2] = { }, *head = p;
	struct sfc_pfc_watch w = { };
	int i, prio;

	for (i = 0; i < STEPS; i++) {
		u64 pause = take_range(in, 0, 1ULL << 42);

		now += take_range(in, 0, 1ULL << take_below(in, 34));
		if (take_once_in(in, 2)) {
			prio = take_below(in, 2);
			CHECK(sfc_paused_set(&p[prio], now, pause) == (now >= ignored[prio]));
			continue;
		}
		switch (sfc_paused_stops(head, &w, stuck_ns, ignore_ns, now)) {
		case SFC_PAUSED:
			stuck = stuck ?: now;
			CHECK(now >= free && now - stuck < stuck_ns);
			CHECK(sfc_paused_wake_ns(head, &w, stuck_ns) > now);
			CHECK(sfc_paused_wake_ns(head, &w, stuck_ns) <= stuck + stuck_ns);
			break;
		case SFC_PAUSED_TRIPPED:
			CHECK(stuck && now - stuck >= stuck_ns);
			free = now + ignore_ns;
			ignored[head - p] = free;
			fallthrough;
		case SFC_PAUSED_NOT:
			/* so the packet leaves */
			w.stuck_ns = 0;
			stuck = 0;
			head = &p[take_below(in, 2)];
			break;
		}
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	struct input in = input_begin(data, len);

	switch (take_u8(&in) % 4) {
	case 0:
		buffer(&in);
		break;
	case 1:
		frames(&in);
		break;
	case 2:
		xoff(&in);
		break;
	case 3:
		heeded(&in);
		break;
	}
	return 0;
}
