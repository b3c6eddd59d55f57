/* SPDX-License-Identifier: GPL-2.0 */
/* What subrtt exporter shows. */
#ifndef _SUBRTT_METRICS_H
#define _SUBRTT_METRICS_H

#include <stdbool.h>
#include <stdio.h>

/*
 * Ports and connections as OpenMetrics, or as Prometheus's older text format 0.0.4, which is all
 * that node_exporter's textfile collector reads; @counters: those of the namespace, too;
 * @each_flow: each connection by itself as well
 */
enum metrics_format { METRICS_OPEN, METRICS_TEXT };
void metrics_write(FILE *out, enum metrics_format format, bool counters, bool each_flow);

#endif /* _SUBRTT_METRICS_H */
