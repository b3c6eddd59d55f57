// SPDX-License-Identifier: GPL-2.0
/* Complaints, one line each on stderr; numbers; arrays that grow. */

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "subrtt.h"

int bc_error(int status, const char *fmt, ...)
{
	va_list ap;

	/* what was said before it comes before it */
	fflush(stdout);
	fputs("subrtt: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return status;
}

/* Decimal, without sign or anything behind it */
int bc_number(const char *what, const char *arg, uint64_t min, uint64_t max, uint64_t *v)
{
	char *end;

	errno = 0;
	*v = strtoull(arg, &end, 10);
	if (errno || *end || strspn(arg, "0123456789") != strlen(arg) || !*arg ||
	    *v < min || *v > max)
		return bc_error(BC_USAGE, "%s: \"%s\" is not a number from %llu to %llu", what,
				arg, (unsigned long long)min, (unsigned long long)max);
	return BC_OK;
}

/* @list is the array's pointer; the new entry is all zero */
void *bc_more(void *list, unsigned int *n, unsigned int *room, size_t size)
{
	unsigned int grown = *room ? 2 * *room : 64;
	void **array = list, *p;

	if (*n == *room) {
		p = realloc(*array, grown * size);
		if (!p)
			return NULL;
		*array = p;
		*room = grown;
	}
	return memset((char *)*array + (*n)++ * size, 0, size);
}
