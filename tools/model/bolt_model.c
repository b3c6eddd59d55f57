// SPDX-License-Identifier: GPL-2.0
/*
 * What is measured in the model of bolt (model.h).
 *
 * usage: bolt_model long|join|leave|end|mix [NAME=NUMBER...]
 *
 * long: as many flows as `flows`, from within 2 us; measured from 1 ms on
 * join: the last of `flows` starts beside the others, at any moment of their round trip
 * leave, end: one of two is gone, without a hint or after its last byte
 * mix: `messages` of sizes from a CDF on standard input (SIZE PERCENT), Poisson, `load` per cent
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model.h"

static double used(u64 from, u64 until)
{
	u64 a = (from - T0) / step, b = min((until - T0) / step, samples - 1);

	return (sample[b].tx_bytes - sample[a].tx_bytes) * 8.0 / ARG(GBPS) / ((b - a) * step);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double percentile(double *v, u64 n, double part)
{
	qsort(v, n, sizeof(*v), by_value);
	return n ? v[min((u64)(part * n), n - 1)] : 0;
}

/* Of the queue; @busy: while there is something to send */
static double queue_at(u64 from, u64 until, double part, bool busy)
{
	u64 i, n = 0, b = min((until - T0) / step, samples - 1);
	double *v = calloc(samples, sizeof(*v)), got;

	for (i = (from - T0) / step + 1; i <= b; i++)
		if (!busy || sample[i].tx_bytes != sample[i - 1].tx_bytes)
			v[n++] = sample[i].queue;
	got = percentile(v, n, part);
	free(v);
	return got;
}

/* Jain's index of all flows in the bins from here on, the worst; *@off: most that a share is off */
static double shares(u64 bin, u64 until, double *off)
{
	u64 *was = calloc(flows, sizeof(*was));
	double worst = 1;
	u32 i;

	for (*off = 0, i = 0; i < flows; i++)
		was[i] = flow[i].acked;
	while (now + bin <= until) {
		double sum = 0, squares = 0, most = 0, least = 1e18;

		run(now + bin);
		for (i = 0; i < flows; i++) {
			double got = flow[i].acked - was[i];

			was[i] = flow[i].acked;
			sum += got;
			squares += got * got;
			most = max(most, got);
			least = min(least, got);
		}
		worst = min(worst, sum * sum / flows / squares);
		*off = max(*off, max(most / sum - 1.0 / flows, 1.0 / flows - least / sum));
	}
	free(was);
	return worst;
}

static void watch(u64 every, u64 until)
{
	step = every;
	max_samples = (until - T0) / step + 1;
	sample = calloc(max_samples, sizeof(*sample));
}

static void longs(void)
{
	u64 from = T0 + 1000000, until = from + ARG(US) * 1000;
	double off, jain;
	u32 i;

	watch(1000, until);
	for (i = 0; i < ARG(FLOWS); i++)
		add_flow(T0 + 2000 * uniform(), FOREVER);
	run(from);
	jain = shares(200000, until, &off);
	printf("jain %.4f used %.4f queue %.0f\n", jain, used(from, until),
	       queue_at(from, until, .5, false));
}

static void join(void)
{
	u64 rtt = ARG(RTT), t, i, at, peak = 0, drained, join, until;
	double worst = 1, off, p99;
	u32 n = ARG(FLOWS);

	join = T0 + rtt * (n > 2 ? 150 : 25) / 2 + (u64)(80 * uniform()) * (rtt / 80);
	until = join + 75 * rtt;
	watch(rtt / 80, until);
	for (i = 0; i + 1 < n; i++)
		add_flow(T0 + i * rtt * 25 / 2 + 200 * uniform(), FOREVER);
	add_flow(join, FOREVER);
	run(join + rtt * 25 / 4);
	shares(2 * rtt, until, &off);
	for (at = i = (join - T0) / step; i < (join - T0 + 20 * rtt) / step; i++)
		if (sample[i].queue > peak)
			peak = sample[at = i].queue;
	for (i = at; i < samples - 1 && sample[i].queue > pkt_len; i++)
		;
	drained = T0 + i * step;
	for (t = drained; t + rtt < min(until, drained + 50 * rtt); t += step)
		worst = min(worst, used(t, t + rtt));
	p99 = queue_at(join + rtt * 25 / 4, until, .99, false) / pkt_len;
	printf("peak %.3f drained %.2f window %.3f p99 %.1f shares %.3f\n",
	       peak * 8.0 / ARG(GBPS) / rtt, (double)(drained - join) / rtt, worst, p99, off);
}

static void leave(bool hint)
{
	u64 rtt = ARG(RTT), at = T0 + rtt * 25 / 2 + ARG(US) * 1000, until = at + 60 * rtt;

	watch(rtt / 80, until);
	add_flow(T0 + 200 * uniform(), FOREVER);
	add_flow(T0 + rtt * 25 / 2 + rtt * uniform(), FOREVER);
	post(at, hint ? END : GONE, &flow[1], NULL);
	run(until);
	if (hint)
		at = flow[1].end - ARG(RTT) + d1() - wire_ns(pkt_len + ARG(LINKS) * HEADERS);
	printf("lost %.0f\n", 50 * rtt * (1 - used(at, at + 50 * rtt)));
}

static void mix(void)
{
	static const u64 edge[] = { 0, 1000, 7000, 62500, 125000, 300000, 1000000, FOREVER };
	double size[1024], part[1024], mean = 0, t = T0, *v = calloc(ARG(MESSAGES), sizeof(*v));
	u32 n = 0, i, b, k;
	char line[128];

	while (n < 1024 && fgets(line, sizeof(line), stdin))
		n += sscanf(line, "%lf %lf", &size[n], &part[n]) == 2;
	if (!n || part[n - 1] != 100) {
		fprintf(stderr, "bolt_model: no distribution of up to 1024 sizes that ends at 100 per cent\n");
		exit(2);
	}
	for (i = 1; i < n; i++)
		mean += (part[i] - part[i - 1]) / 100 * (size[i] + size[i - 1]) / 2;
	for (i = 0; i < ARG(MESSAGES); i++) {
		double p = 100 * uniform();

		for (b = 1; b + 1 < n && part[b] < p; b++)
			;
		t -= log(1 - uniform()) * mean * pkt_len / mss * 800 / ARG(GBPS) / ARG(LOAD);
		p = (p - part[b - 1]) / (part[b] - part[b - 1]);
		add_flow(t, max(1, round(size[b - 1] + p * (size[b] - size[b - 1]))));
	}
	watch(500, t);
	run(t);
	run(t + 1e9);
	for (b = 1; b <= 8; b++) {
		for (k = i = 0; i < flows; i++) {
			struct flow *f = &flow[i];
			u64 wire = f->bytes + (f->bytes + mss - 1) / mss * HEADERS;

			if (b == 8 || (f->bytes > edge[b - 1] && f->bytes <= edge[b]))
				v[k++] = (double)(f->end - f->start) / (ARG(RTT) + wire_ns(wire));
		}
		printf("%s%.2f/%.2f ", b == 8 ? "all " : "", percentile(v, k, .5),
		       percentile(v, k, .99));
	}
	printf("queue %.0f src %.3f\n", queue_at(T0, t, .99, true), (double)src_pkts / data_pkts);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	int i, a;

	for (i = 2; i < argc; i++) {
		size_t len = strcspn(argv[i], "=");
		char *end;

		for (a = 0; a < ARGS; a++)
			if (strlen(arg[a].name) == len && !strncmp(argv[i], arg[a].name, len) &&
			    argv[i][len])
				break;
		if (a == ARGS) {
			fprintf(stderr, "bolt_model: no such argument: %s\n", argv[i]);
			return 2;
		}
		ARG(a) = strtoull(argv[i] + len + 1, &end, 10);
		if (*end || !isdigit((unsigned char)argv[i][len + 1])) {
			fprintf(stderr, "bolt_model: no number: %s\n", argv[i]);
			return 2;
		}
	}
	kbps = ARG(GBPS) * 1000000;
	pkt_len = ARG(MTU) + 14;
	mss = pkt_len - HEADERS;
	link = calloc(ARG(SENDERS) + 1, sizeof(*link));
	flow = calloc(max(ARG(MESSAGES), ARG(FLOWS)), sizeof(*flow));
	sfc_rate_set(&port.cfg.rate, kbps * 125ULL);
	port.cfg.mtu = pkt_len;
	port.cfg.ccthresh = ARG(THRESH) * pkt_len;
	port.cfg.smcap = max(sfc_supply(&port.cfg.rate, 8000) >> SFC_TOKEN_SHIFT, pkt_len);
	port.cfg.pruthresh = max(ARG(RTT) * ARG(GBPS) / 8 / 4, port.cfg.ccthresh);
	port.cfg.floor = 16000000;
	port.cfg.pru_max = SFC_PRU_MAX;
	port.cfg.pru = true;
	port.cfg.sm = true;
	port.tail = &port.head;
	if (!strcmp(mode, "long")) {
		longs();
	} else if (!strcmp(mode, "join")) {
		join();
	} else if (!strcmp(mode, "leave") || !strcmp(mode, "end")) {
		leave(!strcmp(mode, "end"));
	} else if (!strcmp(mode, "mix")) {
		mix();
	} else {
		fprintf(stderr, "usage: bolt_model long|join|leave|end|mix [NAME=NUMBER...]\n");
		return 2;
	}
	return 0;
}
