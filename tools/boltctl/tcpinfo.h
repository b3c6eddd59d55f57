/* SPDX-License-Identifier: GPL-2.0 */
/* struct tcp_info, printed.  Apart, as its header cannot be included beside libnl's. */
#ifndef _BOLTCTL_TCPINFO_H
#define _BOLTCTL_TCPINFO_H

#include <stddef.h>

void tcpinfo_text(const void *info, size_t len);
void tcpinfo_json(const char *key, const void *info, size_t len);

#endif /* _BOLTCTL_TCPINFO_H */
