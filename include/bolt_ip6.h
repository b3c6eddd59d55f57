/* SPDX-License-Identifier: GPL-2.0 */
/* What a packet carries behind the extension headers of IPv6 */
#ifndef _BOLT_IP6_H
#define _BOLT_IP6_H

#include <linux/skbuff.h>
#include <net/ipv6.h>

#define BOLT_IP6_EXT_HDRS	12	/* as many as ipv6_skip_exthdr() skips in 7.x */

/*
 * Skip them from @off on, where the first has the type @next.  Returns where L4 is, and in @next
 * its protocol; -1 for a fragment, for more headers than that, which cost too much to walk, and for
 * AH: what it protects must not be changed, nor believed before it is verified.
 */
static inline int bolt_ip6_skip(const struct sk_buff *skb, int off, u8 *next)
{
	unsigned int n;
	const u8 *h;
	u8 buf[8];

	for (n = 0; ipv6_ext_hdr(*next); n++) {
		h = skb_header_pointer(skb, off, sizeof(buf), buf);
		if (!h || n == BOLT_IP6_EXT_HDRS || *next == NEXTHDR_NONE ||
		    *next == NEXTHDR_AUTH ||
		    (*next == NEXTHDR_FRAGMENT && get_unaligned_be16(h + 2)))
			return -1;
		off += *next == NEXTHDR_FRAGMENT ? sizeof(buf) : 8 + 8 * h[1];
		*next = h[0];
	}
	return off;
}

#endif /* _BOLT_IP6_H */
