// SPDX-License-Identifier: GPL-2.0
/* Counters of the namespace by name, from /proc/net/bolt_stat: "Name value" a line. */

#include <stdio.h>
#include <string.h>

#include "mib.h"

bool mib_read(const char *name, uint64_t *v)
{
	FILE *f = fopen("/proc/net/bolt_stat", "r");
	unsigned long long value;
	char line[128], key[64];
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f))
		if (sscanf(line, "%63s %llu", key, &value) == 2 && !strcmp(key, name)) {
			*v = value;
			found = true;
		}
	if (f)
		fclose(f);
	return found;
}
