// SPDX-License-Identifier: GPL-2.0
/* Numbers as people read them: three digits or four, and the unit. */

#include "subrtt.h"

static char *slot(void)
{
	static char ring[16][32];
	static unsigned int next;

	return ring[next++ % 16];
}

static const char *scaled(uint64_t v, const char *const *units, unsigned int n)
{
	char *s = slot();
	double x = v;
	unsigned int i;

	for (i = 0; x >= 999.5 && i < n - 1; i++)
		x /= 1000;
	if (!i)
		snprintf(s, 32, "%llu%s", (unsigned long long)v, units[0]);
	else
		snprintf(s, 32, "%.*f%s", x < 9.995 ? 2 : x < 99.95 ? 1 : 0, x, units[i]);
	return s;
}

const char *tx_bytes(uint64_t v)
{
	static const char *const units[] = { "B", "KB", "MB", "GB", "TB" };

	return scaled(v, units, 5);
}

const char *tx_rate(uint64_t bit_ps)
{
	static const char *const units[] = { "bps", "Kbps", "Mbps", "Gbps", "Tbps" };

	return scaled(bit_ps, units, 5);
}

const char *tx_fixed(uint64_t q32)
{
	char *s = slot();

	snprintf(s, 32, "%.*f", q32 >> 32 >= 10 ? 1 : 3, q32 / 4294967296.0);
	return s;
}

const char *tx_ns(uint64_t ns)
{
	static const char *const units[] = { "ns", "us", "ms", "s" };

	return scaled(ns, units, 4);
}
