/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The frames of the benchmarks: TCP over IPv4 to 198.51.100.1, with Bolt's option or without.
 */
#ifndef BENCH_FRAME_H
#define BENCH_FRAME_H

#include <arpa/inet.h>
#include <err.h>
#include <linux/bolt.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline void frame_make(unsigned char *f, const unsigned char *mac, unsigned int size,
			      bool option, unsigned char flags)
{
	unsigned int hlen = 20 + (option ? BOLT_TCPOPT_LEN : 0);
	unsigned int head = 14 + 20 + hlen;
	struct iphdr *ip = (void *)(f + 14);
	struct tcphdr *tcp = (void *)(f + 34);
	unsigned char *o = f + 54;

	if (size <= head)
		errx(1, "size: more than %u", head);
	memset(f, 0, head);
	memcpy(f, mac, 6);
	f[12] = 0x08;
	ip->version = 4;
	ip->ihl = 5;
	ip->ttl = 64;
	ip->protocol = IPPROTO_TCP;
	ip->tot_len = htons(size - 14);
	ip->daddr = inet_addr("198.51.100.1");
	tcp->dest = htons(5001);
	tcp->doff = hlen / 4;
	tcp->ack = 1;
	if (option) {
		o[0] = BOLT_TCPOPT_KIND;
		o[1] = BOLT_TCPOPT_LEN;
		o[2] = BOLT_TCPOPT_EXID >> 8;
		o[3] = BOLT_TCPOPT_EXID & 0xff;
		o[BOLT_TCPOPT_OFF_FLAGS] = flags;
		o[BOLT_TCPOPT_OFF_TX] = 1;
	}
}

/* The header's sum is what a router checks */
static inline void frame_from(unsigned char *f, unsigned int flow)
{
	struct iphdr *ip = (void *)(f + 14);
	struct tcphdr *tcp = (void *)(f + 34);
	uint16_t *w = (void *)ip;
	uint32_t sum = 0;

	ip->saddr = htonl(0x0a000002 + (flow >> 8));
	tcp->source = htons(1024 + (flow & 255));
	ip->check = 0;
	for (int i = 0; i < 10; i++)
		sum += w[i];
	sum = (sum & 0xffff) + (sum >> 16);
	ip->check = ~(sum + (sum >> 16));
}

#endif /* BENCH_FRAME_H */
