/* SPDX-License-Identifier: GPL-2.0 */
/* What subrtt exporter shows. */
#ifndef _SUBRTT_METRICS_H
#define _SUBRTT_METRICS_H

#include <stdbool.h>
#include <stdio.h>

/*
 * Ports and connections as OpenMetrics; @counters: those of the namespace, too; @each_flow: each
 * connection by itself as well
 */
void metrics_write(FILE *out, bool counters, bool each_flow);

#endif /* _SUBRTT_METRICS_H */
