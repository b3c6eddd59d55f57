/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of bolt_xfer share: bolt_xfer.c, xfer_hand.c, xfer_io.c, xfer_opt.c. */
#ifndef _XFER_H
#define _XFER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define CHUNK	(256 * 1024)

extern int fd;				/* the connection */
extern uint64_t sent, received;		/* positions in the two streams */
extern uint8_t buf[CHUNK];

/* bolt_xfer.c */
void fill(uint8_t *p, uint64_t pos, size_t n);
void do_send(uint64_t n, int flags);
void check(const uint8_t *data, uint64_t n);
socklen_t to_sockaddr(struct sockaddr_storage *ss, const char *text, int port);
const char *next(const char *what);
uint64_t number(const char *what);
void sleep_ms(unsigned int ms);

/* xfer_opt.c: socket options by name; before there is a socket they are kept for it */
int opt_word(const char *w);
void opt_apply(void);

/* xfer_io.c: other ways to move bytes than send() and recv() */
int io_word(const char *w);

/* xfer_hand.c: the connection goes to another process, or is taken apart and put together */
int hand_word(const char *w);

#endif /* _XFER_H */
