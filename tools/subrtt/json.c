// SPDX-License-Identifier: GPL-2.0
/* A JSON writer.  Commands gather first and print then, so what is printed is whole. */

#include <errno.h>
#include <string.h>

#include "subrtt.h"

static struct {
	unsigned int depth;
	bool more[16];		/* something stands before, at this depth */
} js;

static void js_string(const char *s)
{
	unsigned int used;

	putchar('"');
	for (; *s; s += used) {
		const char *text = tx_char(s, &used);
		unsigned char c = *s;

		if (c == '"' || c == '\\')
			printf("\\%c", c);
		else if (c < 0x20 || c == 0x7f)
			printf("\\u%04x", c);
		else
			fputs(text, stdout);
	}
	putchar('"');
}

static void js_key(const char *key)
{
	if (js.more[js.depth])
		putchar(',');
	js.more[js.depth] = true;
	if (!key)
		return;
	js_string(key);
	putchar(':');
}

void js_begin(const char *key, char bracket)
{
	js_key(key);
	/* a line for each entry of the outermost list */
	if (js.depth == 1 && !key)
		putchar('\n');
	putchar(bracket);
	js.more[++js.depth] = false;
}

void js_end(char bracket)
{
	js.depth--;
	putchar(bracket);
	if (!js.depth)
		js_line();
}

/* The end of a document; another may follow on the next line. */
void js_line(void)
{
	putchar('\n');
	js.more[0] = false;
}

void js_u64(const char *key, uint64_t v)
{
	js_key(key);
	printf("%llu", (unsigned long long)v);
}

void js_s64(const char *key, int64_t v)
{
	js_key(key);
	printf("%lld", (long long)v);
}

void js_fixed(const char *key, uint64_t q32)
{
	/* rounded down */
	js_key(key);
	printf("%llu.%06llu", (unsigned long long)(q32 >> 32),
	       (unsigned long long)((q32 & 0xffffffff) * 1000000 >> 32));
}

void js_bool(const char *key, bool v)
{
	js_key(key);
	fputs(v ? "true" : "false", stdout);
}

void js_str(const char *key, const char *v)
{
	js_key(key);
	js_string(v);
}

void js_null(const char *key)
{
	js_key(key);
	fputs("null", stdout);
}

/* A full disk must not pass for a short answer. */
int bc_flush(void)
{
	if (fflush(stdout) || ferror(stdout))
		return bc_error(BC_FAIL, "cannot write the output: %s; it is incomplete",
				strerror(errno));
	return BC_OK;
}
