/* SPDX-License-Identifier: GPL-2.0 */
/* TCP sockets of the namespace, by inet_diag: what ss(8) shows. */
#ifndef _SUBRTT_DIAG_H
#define _SUBRTT_DIAG_H

#include <stdint.h>

struct diag_sock {
	uint64_t cookie;
	uint32_t rqueue, wqueue;
	char cong[16];
	uint32_t info_len;	/* of info: what this kernel knows */
	/* struct tcp_info of linux/tcp.h, which cannot be included beside libnl's headers */
	_Alignas(8) uint8_t info[256];
};

struct diag_table {
	struct diag_sock *s;
	unsigned int n, room;
};

/* Those in one of @states (bits), without or with tcp_info; sorted by cookie */
int diag_read(struct diag_table *t, uint32_t states, bool info);
struct diag_sock *diag_find(const struct diag_table *t, uint64_t cookie);
void diag_free(struct diag_table *t);
const char *diag_state(uint8_t state);

/* "192.0.2.1", "[2001:db8::1]" where a port follows, into a ring of buffers */
const char *diag_addr(uint8_t family, const uint8_t *addr);

/* 1 << TCP_ESTABLISHED to 1 << TCP_CLOSING, without CLOSE and LISTEN */
#define DIAG_STATES_CONNECTED	0xb7e

#endif /* _SUBRTT_DIAG_H */
