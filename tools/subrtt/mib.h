/* SPDX-License-Identifier: GPL-2.0 */
/* Counters of the namespace by name. */
#ifndef _SUBRTT_MIB_H
#define _SUBRTT_MIB_H

#include <stdbool.h>
#include <stdint.h>

bool mib_read(const char *name, uint64_t *v);

#endif /* _SUBRTT_MIB_H */
