// SPDX-License-Identifier: GPL-2.0
/* Commands that go on: what ends them, and their intervals. */

#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "subrtt.h"

volatile sig_atomic_t bc_stop;

static void on_signal(int sig)
{
	(void)sig;
	bc_stop = 1;
}

void bc_stop_on_signals(void)
{
	struct sigaction sa = { .sa_handler = on_signal };

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
}

int bc_interval(const char *what, const char *arg, uint64_t *ms)
{
	char *end;
	double s = strtod(arg, &end);

	if (*end || !*arg || !(s >= 0.01 && s <= 86400))
		return bc_error(BC_USAGE, "%s: \"%s\" is not a number of seconds from 0.01 to 86400",
				what, arg);
	*ms = s * 1000 + 0.5;
	return BC_OK;
}

void bc_later(struct timespec *t, uint64_t ms)
{
	t->tv_sec += ms / 1000;
	t->tv_nsec += ms % 1000 * 1000 * 1000;
	if (t->tv_nsec >= 1000 * 1000 * 1000) {
		t->tv_sec++;
		t->tv_nsec -= 1000 * 1000 * 1000;
	}
}

double bc_seconds(const struct timespec *from, const struct timespec *to)
{
	return to->tv_sec - from->tv_sec + (to->tv_nsec - from->tv_nsec) / 1e9;
}
