// SPDX-License-Identifier: GPL-2.0
/* The tracepoints themselves: used by all files, so that this one uses none. */

#define CREATE_TRACE_POINTS
#include "trace.h"
