// SPDX-License-Identifier: GPL-2.0
/* struct tcp_info, printed as ss -ti does.  Fields that this kernel does not send are 0. */

#include <linux/types.h>
#include <linux/tcp.h>
#include <string.h>

#include "subrtt.h"
#include "tcpinfo.h"

/* in the order of ss; what subrtt prints of its own (cwnd, rtt in ns) comes before */
static const struct {
	const char *name;
	size_t off, size;
} numbers[] = {
#define F(name, field) \
	{ name, offsetof(struct tcp_info, field), sizeof(((struct tcp_info *)0)->field) }
	F("mss", tcpi_snd_mss), F("pmtu", tcpi_pmtu), F("rcvmss", tcpi_rcv_mss),
	F("advmss", tcpi_advmss), F("ssthresh", tcpi_snd_ssthresh),
	F("bytes_sent", tcpi_bytes_sent), F("bytes_retrans", tcpi_bytes_retrans),
	F("bytes_acked", tcpi_bytes_acked), F("bytes_received", tcpi_bytes_received),
	F("segs_out", tcpi_segs_out), F("segs_in", tcpi_segs_in),
	F("data_segs_out", tcpi_data_segs_out), F("data_segs_in", tcpi_data_segs_in),
	F("lastsnd", tcpi_last_data_sent), F("lastrcv", tcpi_last_data_recv),
	F("lastack", tcpi_last_ack_recv),
	F("delivered", tcpi_delivered), F("unacked", tcpi_unacked),
	F("retrans_total", tcpi_total_retrans), F("lost", tcpi_lost), F("sacked", tcpi_sacked),
	F("reordering", tcpi_reordering), F("notsent", tcpi_notsent_bytes),
	F("snd_wnd", tcpi_snd_wnd),
#undef F
};

#define N_NUMBERS	(sizeof(numbers) / sizeof(numbers[0]))
#define SSTHRESH_INFINITE	0x7fffffff

static uint64_t number(const struct tcp_info *t, unsigned int i)
{
	uint64_t v64;
	uint32_t v32;

	if (numbers[i].size == sizeof(v64)) {
		memcpy(&v64, (const char *)t + numbers[i].off, sizeof(v64));
		return v64;
	}
	memcpy(&v32, (const char *)t + numbers[i].off, sizeof(v32));
	return v32;
}

static void copy(struct tcp_info *t, const void *info, size_t len)
{
	memset(t, 0, sizeof(*t));
	memcpy(t, info, len < sizeof(*t) ? len : sizeof(*t));
}

uint64_t tcpinfo_number(const char *name, const void *info, size_t len)
{
	struct tcp_info t;
	unsigned int i;

	copy(&t, info, len);
	for (i = 0; i < N_NUMBERS; i++)
		if (!strcmp(numbers[i].name, name))
			return number(&t, i);
	return 0;
}

/* As ss, what is 0 or as it always is left out */
void tcpinfo_text(const void *info, size_t len)
{
	struct tcp_info t;
	unsigned int i;

	copy(&t, info, len);
	if (t.tcpi_options & TCPI_OPT_TIMESTAMPS)
		printf(" ts");
	if (t.tcpi_options & TCPI_OPT_SACK)
		printf(" sack");
	if (t.tcpi_options & TCPI_OPT_ECN)
		printf(" ecn");
	if (t.tcpi_options & TCPI_OPT_WSCALE)
		printf(" wscale:%u,%u", t.tcpi_snd_wscale, t.tcpi_rcv_wscale);
	if (t.tcpi_rto)
		printf(" rto:%g", t.tcpi_rto / 1000.0);
	if (t.tcpi_backoff)
		printf(" backoff:%u", t.tcpi_backoff);
	if (t.tcpi_rtt)
		printf(" rtt:%g/%g", t.tcpi_rtt / 1000.0, t.tcpi_rttvar / 1000.0);
	for (i = 0; i < N_NUMBERS; i++) {
		uint64_t v = number(&t, i);

		if (!v || (!strcmp(numbers[i].name, "ssthresh") && v >= SSTHRESH_INFINITE) ||
		    (!strcmp(numbers[i].name, "reordering") && v == 3))
			continue;
		printf(" %s:%llu", numbers[i].name, (unsigned long long)v);
	}
	if (t.tcpi_pacing_rate && t.tcpi_pacing_rate != ~0ULL)
		printf(" pacing_rate %s", tx_rate(t.tcpi_pacing_rate * 8));
	if (t.tcpi_delivery_rate)
		printf(" delivery_rate %s", tx_rate(t.tcpi_delivery_rate * 8));
	if (t.tcpi_delivery_rate_app_limited)
		printf(" app_limited");
	if (t.tcpi_busy_time)
		printf(" busy:%llums", (unsigned long long)t.tcpi_busy_time / 1000);
	if (t.tcpi_rwnd_limited)
		printf(" rwnd_limited:%llums", (unsigned long long)t.tcpi_rwnd_limited / 1000);
}

/* Rates in bytes/s, times in the unit of tcp_info, which their names have */
void tcpinfo_json(const char *key, const void *info, size_t len)
{
	struct tcp_info t;
	unsigned int i;

	copy(&t, info, len);
	js_begin(key, '{');
	js_u64("rto_us", t.tcpi_rto);
	js_u64("rtt_us", t.tcpi_rtt);
	js_u64("rttvar_us", t.tcpi_rttvar);
	js_u64("min_rtt_us", t.tcpi_min_rtt);
	js_u64("cwnd", t.tcpi_snd_cwnd);
	for (i = 0; i < N_NUMBERS; i++)
		js_u64(numbers[i].name, number(&t, i));
	js_u64("pacing_rate", t.tcpi_pacing_rate);
	js_u64("delivery_rate", t.tcpi_delivery_rate);
	js_bool("app_limited", t.tcpi_delivery_rate_app_limited);
	js_u64("busy_us", t.tcpi_busy_time);
	js_u64("rwnd_limited_us", t.tcpi_rwnd_limited);
	js_u64("sndbuf_limited_us", t.tcpi_sndbuf_limited);
	js_end('}');
}
