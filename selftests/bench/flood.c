// SPDX-License-Identifier: GPL-2.0
/*
 * Packets into a device, through its qdisc, and what each took.
 *
 *	bolt_flood DEV MAC [count N] [flows N] [size BYTES] [gso SEGMENTS] [option] [first]
 *
 * TCP over IPv4 to 198.51.100.1, from as many flows as asked for in turn, in frames of BYTES
 * (1514).  "option" is Bolt's, DATA and INC set; "first" sets FIRST as well, so that nothing is
 * asked of tokens.  gso: super-packets of so many segments.
 * Prints the nanoseconds a packet took; on a CPU whose nanoseconds are instructions, those.  What
 * the loop itself and the socket cost is in it: compare with a device without a qdisc.
 */
#define _GNU_SOURCE
#include <err.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "frame.h"

#define BATCH	64
#define ROOM	(65536 + 64)

static unsigned char frame[BATCH][ROOM];
static struct virtio_net_hdr vnet;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

int main(int argc, char **argv)
{
	unsigned int count = 4096, flows = 1, size = 1514, gso = 0, flow = 0, sent = 0, b[6];
	unsigned char mac[6], flags = BOLT_F_DATA | BOLT_F_INC;
	int one = 1, fd, room = 1 << 30;
	struct sockaddr_ll to = { .sll_family = AF_PACKET, .sll_halen = 6 };
	struct mmsghdr msg[BATCH] = { 0 };
	struct iovec iov[BATCH][2];
	bool option = false;
	uint64_t begin;

	if (argc < 3 ||
	    sscanf(argv[2], "%x:%x:%x:%x:%x:%x", b, b + 1, b + 2, b + 3, b + 4, b + 5) != 6)
		errx(1, "device and address?");
	for (int i = 0; i < 6; i++)
		mac[i] = b[i];
	for (char **w = argv + 3; *w; w++) {
		if (!strcmp(*w, "option"))
			option = true;
		else if (!strcmp(*w, "first"))
			flags |= BOLT_F_FIRST;
		else if (!w[1])
			errx(1, "what is %s?", *w);
		else if (!strcmp(*w, "count"))
			count = atoi(*++w);
		else if (!strcmp(*w, "flows"))
			flows = atoi(*++w);
		else if (!strcmp(*w, "size"))
			size = atoi(*++w);
		else if (!strcmp(*w, "gso"))
			gso = atoi(*++w);
		else
			errx(1, "what is %s?", *w);
	}
	to.sll_ifindex = if_nametoindex(argv[1]);
	to.sll_protocol = htons(ETH_P_IP);
	memcpy(to.sll_addr, mac, 6);
	if (!to.sll_ifindex || !flows)
		errx(1, "no device %s, or no flow", argv[1]);
	fd = socket(AF_PACKET, SOCK_RAW, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)))
		err(1, "packet socket");
	if (gso) {
		unsigned int mss = size - 54 - (option ? BOLT_TCPOPT_LEN : 0);

		if (setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &one, sizeof(one)))
			err(1, "PACKET_VNET_HDR");
		size = 54 + (option ? BOLT_TCPOPT_LEN : 0) + gso * mss;
		vnet = (struct virtio_net_hdr){
			.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
			.gso_type = VIRTIO_NET_HDR_GSO_TCPV4,
			.hdr_len = 54 + (option ? BOLT_TCPOPT_LEN : 0),
			.gso_size = mss,
			.csum_start = 34,
			.csum_offset = 16,
		};
	}
	if (size > ROOM - 64)
		errx(1, "size: too large");
	for (int i = 0; i < BATCH; i++) {
		frame_make(frame[i], mac, size, option, flags);
		iov[i][0] = (struct iovec){ &vnet, sizeof(vnet) };
		iov[i][1] = (struct iovec){ frame[i], size };
		msg[i].msg_hdr.msg_iov = gso ? iov[i] : iov[i] + 1;
		msg[i].msg_hdr.msg_iovlen = gso ? 2 : 1;
		msg[i].msg_hdr.msg_name = &to;
		msg[i].msg_hdr.msg_namelen = sizeof(to);
	}

	begin = now_ns();
	while (sent < count) {
		int n = count - sent < BATCH ? count - sent : BATCH, done = 0;

		for (int i = 0; i < n; i++) {
			frame_from(frame[i], flow);
			if (++flow == flows)
				flow = 0;
		}
		while (done < n) {
			int got = sendmmsg(fd, msg + done, n - done, 0);

			if (got < 1)
				err(1, "sendmmsg");
			done += got;
		}
		sent += n;
	}
	printf("%.0f\n", (double)(now_ns() - begin) / count);
	return 0;
}
