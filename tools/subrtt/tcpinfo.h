/* SPDX-License-Identifier: GPL-2.0 */
/* struct tcp_info, printed.  Apart, as its header cannot be included beside libnl's. */
#ifndef _SUBRTT_TCPINFO_H
#define _SUBRTT_TCPINFO_H

#include <stddef.h>
#include <stdint.h>

void tcpinfo_text(const void *info, size_t len);
void tcpinfo_json(const char *key, const void *info, size_t len);

/* 0 where there is none */
uint64_t tcpinfo_number(const char *name, const void *info, size_t len);

#endif /* _SUBRTT_TCPINFO_H */
