// SPDX-License-Identifier: GPL-2.0
/* Numbers as people read them: three digits or four, and the unit.  Text of any bytes as UTF-8. */

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

char *tx_plain(char *s)
{
	unsigned char *c;

	for (c = (unsigned char *)s; *c; c++) {
		if (*c < ' ' || *c == 0x7f) {
			*c = '?';
		} else if (*c == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0) {	/* U+0080 to U+009F */
			c[0] = '?';
			c[1] = '?';
		}
	}
	return s;
}

const char *tx_name(const char *name)
{
	char *s = slot();

	snprintf(s, 32, "%s", name);
	tx_plain(s);
	return s;
}

/* RFC 3629, section 4: what may follow the first byte depends on it */
static unsigned int utf8_bytes(const unsigned char *u)
{
	unsigned int n, i;

	if (u[0] < 0x80)
		return 1;
	if (u[0] < 0xc2 || u[0] > 0xf4)
		return 0;
	if ((u[0] == 0xe0 && u[1] < 0xa0) || (u[0] == 0xed && u[1] > 0x9f) ||
	    (u[0] == 0xf0 && u[1] < 0x90) || (u[0] == 0xf4 && u[1] > 0x8f))
		return 0;
	n = u[0] < 0xe0 ? 2 : u[0] < 0xf0 ? 3 : 4;
	for (i = 1; i < n; i++)
		if ((u[i] & 0xc0) != 0x80)
			return 0;
	return n;
}

const char *tx_char(const char *s, unsigned int *used)
{
	unsigned int n = utf8_bytes((const unsigned char *)s);
	static char text[5];

	*used = n ?: 1;
	snprintf(text, sizeof(text), "%.*s", n ? (int)n : 3, n ? s : "\xef\xbf\xbd");
	return text;
}
