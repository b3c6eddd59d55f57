// SPDX-License-Identifier: GPL-2.0
/*
 * Counters, ports and connections as OpenMetrics 1.0, or in Prometheus's text format 0.0.4.
 *
 * All samples of a metric stand together, below its type, so what is read first is kept until
 * all of it is there.
 */

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "../tc/sfc_counters.h"
#include "flows.h"
#include "metrics.h"
#include "qdisc.h"
#include "stats.h"
#include "subrtt.h"

#define MAX_CCS		16

struct sample {
	char metric[64];
	char labels[224];
	bool gauge;
	unsigned int order;
	double value;
};

static struct {
	struct sample *v;
	unsigned int n, room;
	bool each_flow;
} all;

static void add(const char *metric, bool gauge, const char *labels, double value)
{
	struct sample *s = bc_more(&all.v, &all.n, &all.room, sizeof(*s));

	if (!s)
		return;
	snprintf(s->metric, sizeof(s->metric), "subrtt_%s", metric);
	snprintf(s->labels, sizeof(s->labels), "%s", labels);
	s->gauge = gauge;
	s->order = all.n;
	s->value = value;
}

static void state(const char *metric, const char *labels, double value)
{
	add(metric, true, labels, value);
}

static void count(const char *metric, const char *labels, double value)
{
	add(metric, false, labels, value);
}

/* A name of a device may hold what ends a label, or is no text */
static const char *quoted(const char *text)
{
	static char ring[4][192];
	static unsigned int next;
	char *to = ring[next++ % 4], *at = to;
	unsigned int used;

	for (; *text && at < to + sizeof(ring[0]) - 5; text += used) {
		const char *c = tx_char(text, &used);

		if (*text == '"' || *text == '\\' || *text == '\n')
			*at++ = '\\';
		at = stpcpy(at, *text == '\n' ? "n" : c);
	}
	*at = '\0';
	return to;
}

/* --- counters of the namespace --- */

/* SrcRx: src_rx; CtlTTL: ctl_ttl */
static void in_snake(const char *name, char *to, size_t len)
{
	size_t n = 0;
	bool upper = true;

	for (; *name && n < len - 2; name++) {
		if (isupper((unsigned char)*name) && !upper)
			to[n++] = '_';
		upper = isupper((unsigned char)*name);
		to[n++] = tolower((unsigned char)*name);
	}
	to[n] = '\0';
}

static void of_host(void)
{
	static struct stats s;
	char name[48] = "host_";
	int status = stats_read(&s);
	unsigned int i;

	state("up", "of=\"counters\"", !status && s.n);
	if (status)
		return;
	for (i = 0; i < s.n; i++) {
		in_snake(s.c[i].name, name + 5, sizeof(name) - 5);
		add(name, stats_may_shrink(s.c[i].name), "", s.c[i].value);
	}
}

/* --- ports --- */

static void port_counter(const char *name, bool is_state, int64_t v, void *arg)
{
	char metric[48];

	/* in units that Prometheus has everywhere */
	if (!strcmp(name, "link_rate")) {
		state("port_link_bytes_per_second", arg, v);
		return;
	}
	if (!strcmp(name, "suppress_ns")) {
		state("port_suppress_seconds", arg, v / 1e9);
		return;
	}
	snprintf(metric, sizeof(metric), "port_%s", name);
	add(metric, is_state, arg, v);
}

static int of_place(char *labels, size_t len, const char *dev, uint32_t handle,
		    const char *parent)
{
	int n = snprintf(labels, len, "device=\"%s\",handle=\"%x:\"", quoted(dev), handle >> 16);

	if (*parent)
		n += snprintf(labels + n, len - n, ",parent=\"%s\"", parent);
	return n;
}

/* What any qdisc and class has */
static void of_queue(const char *what, const char *labels, const struct counts *c)
{
	const struct {
		const char *name;
		bool gauge;
		double value;
	} has[] = {
		{ "sent_bytes", false, c->bytes },
		{ "sent_packets", false, c->packets },
		{ "drops", false, c->queue.drops },
		{ "queue_bytes", true, c->queue.backlog },
		{ "queue_packets", true, c->queue.qlen },
	};
	char metric[48];
	unsigned int i;

	for (i = 0; i < sizeof(has) / sizeof(has[0]); i++) {
		snprintf(metric, sizeof(metric), "%s_%s", what, has[i].name);
		add(metric, has[i].gauge, labels, has[i].value);
	}
}

static void of_port(const struct qdisc_port *p, void *arg)
{
	char labels[128];
	unsigned int i;
	int n;

	(void)arg;
	n = of_place(labels, sizeof(labels), p->dev, p->handle, p->parent);
	of_queue("port", labels, p->any);
	qdisc_each_counter(p, port_counter, labels);
	for (i = 0; i < p->n_bands; i++) {
		snprintf(labels + n, sizeof(labels) - n, ",band=\"%u\"", p->band[i].number);
		of_queue("band", labels, &p->band[i].any);
	}
}

static void of_hold(const struct qdisc_hold *h, void *arg)
{
	static const struct {
		const char *metric;
		unsigned int off;
	} counters[] = {
#define H(name, newline)	{ "hold_" #name, offsetof(struct tc_sfc_hold_xstats, name) },
		SFC_HOLD_COUNTERS(H)
#undef H
	};
	char labels[128];
	unsigned int i;
	__s64 v;

	(void)arg;
	of_place(labels, sizeof(labels), h->dev, h->handle, h->parent);
	of_queue("hold", labels, &h->any);
	for (i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
		if (!sfc_counter(&h->st, h->any.len, counters[i].off, &v))
			continue;
		/* may shrink, when a later BTS ends a pause */
		if (counters[i].off == offsetof(struct tc_sfc_hold_xstats, pause_ns))
			state("hold_pause_seconds", labels, v / 1e9);
		else	/* those before bts are states */
			add(counters[i].metric,
			    counters[i].off < offsetof(struct tc_sfc_hold_xstats, bts), labels, v);
	}
}

/* --- connections --- */

static struct of_cc {
	char name[16];
	unsigned int flows, paused, without_option;
	double window;
} ccs[MAX_CCS];
static unsigned int n_ccs;

/* The last one stands for all that find no room */
static struct of_cc *cc_of(const char *name)
{
	unsigned int i;

	for (i = 0; i < n_ccs; i++)
		if (!strcmp(ccs[i].name, name))
			return &ccs[i];
	if (n_ccs == MAX_CCS)
		return &ccs[n_ccs - 1];
	memset(&ccs[n_ccs], 0, sizeof(ccs[0]));
	snprintf(ccs[n_ccs].name, sizeof(ccs[0].name), "%s",
		 n_ccs < MAX_CCS - 1 ? name : "other");
	return &ccs[n_ccs++];
}

static void each_flow(const struct flow_gist *g)
{
	char labels[224];

	/* the cookie: a connection that takes the ports of an earlier one is another */
	snprintf(labels, sizeof(labels),
		 "local=\"%s\",remote=\"%s\",congestion=\"%s\",cookie=\"%llx\"", g->local,
		 g->remote, quoted(g->cc), (unsigned long long)g->cookie);
	count("flow_acked_bytes", labels, g->acked);
	count("flow_retransmits", labels, g->retransmits);
	/* forgotten once the watchdog's interval is over */
	state("flow_pauses", labels, g->pauses);
	state("flow_window_packets", labels, g->window / 4294967296.0);
	state("flow_srtt_seconds", labels, g->srtt_ns / 1e9);
	state("flow_min_rtt_seconds", labels, g->min_rtt_ns / 1e9);
	state("flow_is_paused", labels, g->paused);
}

static void of_flow(const struct flow_gist *g, void *arg)
{
	struct of_cc *cc = cc_of(g->cc);

	(void)arg;
	cc->flows++;
	cc->paused += g->paused;
	cc->without_option += !g->option;
	cc->window += g->window / 4294967296.0;
	if (all.each_flow)
		each_flow(g);
}

static void of_flows(void)
{
	char labels[64];
	unsigned int i;
	int status;

	n_ccs = 0;
	status = flows_each(of_flow, NULL);
	state("up", "of=\"flows\"", !status);
	for (i = 0; i < n_ccs; i++) {
		snprintf(labels, sizeof(labels), "congestion=\"%s\"", quoted(ccs[i].name));
		state("flows", labels, ccs[i].flows);
		state("flows_paused", labels, ccs[i].paused);
		state("flows_without_option", labels, ccs[i].without_option);
		state("flows_window_packets", labels, ccs[i].window);
	}
}

/* --- writing --- */

static int by_metric(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;
	int differ = strcmp(x->metric, y->metric);

	return differ ? differ : (int)x->order - (int)y->order;
}

static void write_unit(FILE *out, const char *metric)
{
	static const char * const units[] = { "bytes", "seconds", "packets", "bytes_per_second" };
	unsigned int i;

	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		size_t n = strlen(metric), m = strlen(units[i]);

		if (n > m && metric[n - m - 1] == '_' && !strcmp(metric + n - m, units[i]))
			fprintf(out, "# UNIT %s %s\n", metric, units[i]);
	}
}

static void write_sample(FILE *out, const struct sample *s)
{
	/* integers as they are: a double has them to 2^53 */
	bool whole = s->value >= -0x1p53 && s->value <= 0x1p53 && s->value == (int64_t)s->value;

	fprintf(out, "%s%s", s->metric, s->gauge ? "" : "_total");
	if (*s->labels)
		fprintf(out, "{%s}", s->labels);
	fprintf(out, whole ? " %.0f\n" : " %.15g\n", s->value);
}

/* OpenMetrics names a counter without _total, and has infos and units */
static void write_type(FILE *out, enum metrics_format format, const struct sample *s)
{
	fprintf(out, "# TYPE %s%s %s\n", s->metric,
		format == METRICS_TEXT && !s->gauge ? "_total" : "", s->gauge ? "gauge" : "counter");
	if (format == METRICS_OPEN)
		write_unit(out, s->metric);
}

void metrics_write(FILE *out, enum metrics_format format, bool counters, bool flows)
{
	unsigned int i;
	int status;

	all.n = 0;
	all.each_flow = flows;
	if (counters)
		of_host();
	status = qdisc_each(of_port, NULL);
	state("up", "of=\"ports\"", !status);
	if (!status)
		qdisc_each_hold(of_hold, NULL);
	of_flows();
	if (all.n)
		qsort(all.v, all.n, sizeof(*all.v), by_metric);
	fprintf(out, "# TYPE subrtt_build%s\nsubrtt_build_info{version=\"%s\"} 1\n",
		format == METRICS_OPEN ? " info" : "_info gauge", SUBRTT_VERSION);
	for (i = 0; i < all.n; i++) {
		const struct sample *s = &all.v[i];

		if (!i || strcmp(s->metric, all.v[i - 1].metric))
			write_type(out, format, s);
		write_sample(out, s);
	}
	if (format == METRICS_OPEN)
		fputs("# EOF\n", out);
}
