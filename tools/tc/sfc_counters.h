/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The counters of sfc and sfc_hold in order of print, for the plugins of tc and for subrtt.  They
 * grow at the end: a module has as many of them as its statistics are long,
 * and none when their type is another.
 */
#ifndef SFC_COUNTERS_H
#define SFC_COUNTERS_H

#include <linux/pkt_sch_sfc.h>
#include <stdbool.h>
#include <string.h>

/*
 * C(NAME, GROUP, a new line begins), of struct tc_sfc_xstats, behind link_rate; S: a state, which
 * is so when asked, and no count of what happened
 */
#define SFC_COUNTERS(C, S) \
	S(ccthresh, "port", false) S(mtu, "port", false) S(backlog_peak, "port", false) \
	S(sm_token, "port", false) S(pru_token, "port", false) S(tagged, "port", false) \
	C(data, "data", true) C(congested, "data", false) C(dec_set, "data", false) \
	C(dec_seen, "data", false) C(pru_added, "inc", true) C(inc_pru, "inc", false) \
	C(inc_sm, "inc", false) C(inc_cleared, "inc", false) C(opt_bad, "inc", false) \
	C(mark_failed, "inc", false) C(src_sent, "src", true) C(msg_limited, "msg", true) \
	C(msg_nomem, "msg", false) C(msg_dropped, "msg", false) C(msg_unfit, "msg", false) \
	C(high, "queue", true) C(gso_split, "queue", false) C(gso_segs, "queue", false) \
	C(gso_failed, "queue", false) C(drop_data, "queue", true) \
	C(drop_high, "queue", false) S(qth, "sfc", true) S(qtg, "sfc", false) \
	S(suppress_ns, "sfc", false) C(bts_sent, "bts", true) \
	C(bts_suppressed, "bts", false) C(bts_cached, "bts", false) \
	S(cache_entries, "cache", true) C(cache_hits, "cache", false) \
	C(cache_learned, "cache", false) C(cache_full, "cache", false) \
	C(cache_refused, "cache", false) C(cache_ignored, "cache", false) \
	C(ecn_marked, "ecn", true) C(estimator_hits, "ecn", false) \
	S(queues, "queues", true) S(port_backlog, "queues", false) \
	C(port_writes, "queues", false) \
	S(buffer_used, "buffer", true) S(buffer_peak, "buffer", false) \
	S(buffer_limit, "buffer", false) C(drop_buffer, "buffer", false) \
	S(ingress_bytes, "pfc", true) S(ingress_packets, "pfc", false) \
	S(ingress_peak, "pfc", false) \
	C(pfc_xoff, "pfc", true) C(pfc_refresh, "pfc", false) C(pfc_xon, "pfc", false) \
	C(pfc_failed, "pfc", false) C(pfc_heard, "pfc", true) C(pfc_ignored, "pfc", false) \
	C(pfc_refused, "pfc", false) C(pfc_unknown, "pfc", false) C(pfc_trips, "pfc", false) \
	S(pfc_paused, "pfc", false) C(sfcp_asked, "sfc-p", true) C(sfcp_refused, "sfc-p", false) \
	S(memory_used, "memory", true) C(drop_memory, "memory", false) \
	S(srcc_flows, "srcc", true) S(srcc_qth, "srcc", false) C(cnm_sent, "srcc", false) \
	C(cnm_suppressed, "srcc", false) C(cnm_unshared, "srcc", false)

/* Likewise of struct tc_sfc_band, without groups */
#define SFC_BAND_COUNTERS(C) \
	C(backlog_peak, false) C(sm_token, false) C(pru_token, false) C(data, true) \
	C(congested, false) C(src_sent, false) C(src_sampled_out, false) C(pru_added, true) \
	C(inc_pru, false) C(inc_sm, false)

/* H(NAME, a new line begins), of struct tc_sfc_hold_xstats */
#define SFC_HOLD_COUNTERS(H) \
	H(held_pkts, false) H(held_bytes, false) H(paused, false) H(tagged, false) \
	H(bts, true) H(pauses, false) H(pause_ns, false) H(clamped, false) H(full, false) \
	H(trips, false) H(ignored, false) H(held, true) H(released, false) H(refused, false) \
	H(oversize, false) H(stale, false)

/* The counter at @off of @len bytes of statistics; false: the module is older than it */
static inline bool sfc_counter(const void *stats, unsigned int len, unsigned int off, __s64 *v)
{
	if (off + sizeof(*v) > len)
		return false;
	memcpy(v, (const char *)stats + off, sizeof(*v));
	return true;
}

#endif
