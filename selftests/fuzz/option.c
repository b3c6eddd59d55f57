// SPDX-License-Identifier: GPL-2.0
/*
 * The TCP option: found where the stack's own walk would meet it and nowhere else, read and written
 * to the byte; what makes room for it keeps all other options, but for the SACK blocks and counters
 * that come again.
 */
#include "fuzz.h"
#include <bolt_option.h>

struct block {
	u8 *p;
	unsigned int len;
};

/* Exactly as long as its buffer, at least BOLT_TCPOPT_SPACE where @space */
static struct block options(struct input *in, bool space)
{
	static const u8 ts[] = { 1, 1, 8, 10 }, ours[] = { 254, 12, 0xb0, 0x17 };
	u8 raw[BOLT_TCPOPT_SPACE], kind, size;
	unsigned int n = 0, len = 4 * take_below(in, 11);
	struct block b;

	take_bytes(in, raw, sizeof(raw));
	while (n + 12 <= len && !take_once_in(in, 8)) {
		switch (take_below(in, 6)) {
		case 0:
			memcpy(raw + n, ts, 4);
			n += 12;
			break;
		case 1:
			memcpy(raw + n, ours, 4);
			n += 12;
			break;
		case 2:
			memcpy(raw + n, ours, 4);
			raw[n + 1] = take_once_in(in, 4) ? take_u8(in) : BOLT_TCPOPT_LEN_SYN;
			n += 4;
			break;
		case 3:
			raw[n++] = BOLT_TCPOPT_NOP;
			break;
		case 4:
			size = 2 + 8 * (1 + take_below(in, 4));
			if (n + size > len)
				break;
			raw[n] = BOLT_TCPOPT_SACK;
			raw[n + 1] = size;
			n += size;
			break;
		default:
			kind = take_once_in(in, 2) ? BOLT_TCPOPT_ACCECN0 : take_u8(in);
			raw[n] = kind;
			raw[n + 1] = take_once_in(in, 8) ? take_u8(in) : 2 + take_below(in, 10);
			n += raw[n + 1] < 12 ? raw[n + 1] : 12;
		}
	}
	b.len = take_once_in(in, 8) ? take_below(in, len + 1) : len;
	b.p = malloc(space ? BOLT_TCPOPT_SPACE : b.len ?: 1);
	memcpy(b.p, raw, space ? BOLT_TCPOPT_SPACE : b.len);
	return b;
}

/* As tcp_parse_options() walks: the first of ours that is whole */
static int find_plainly(const u8 *p, unsigned int len)
{
	unsigned int i = 0;

	while (i < len && p[i] != BOLT_TCPOPT_EOL) {
		if (p[i] == BOLT_TCPOPT_NOP) {
			i++;
			continue;
		}
		if (i + 1 >= len || p[i + 1] < 2 || i + p[i + 1] > len)
			return -1;
		if (p[i] == BOLT_TCPOPT_KIND && p[i + 1] >= 4 &&
		    p[i + 2] == BOLT_TCPOPT_EXID >> 8 && p[i + 3] == (BOLT_TCPOPT_EXID & 0xff))
			return i;
		i += p[i + 1];
	}
	return -1;
}

static void find(struct input *in)
{
	struct block b = options(in, false);
	unsigned int off = ~0;
	struct bolt_opt opt;
	enum bolt_opt_form form = bolt_opt_find(b.p, b.len, &off);
	u8 again[BOLT_TCPOPT_LEN];
	int plainly = find_plainly(b.p, b.len);

	if (form == BOLT_OPT_FULL || form == BOLT_OPT_SYN) {
		CHECK((int)off == plainly);
		CHECK(b.p[off + 1] == (form == BOLT_OPT_FULL ? BOLT_TCPOPT_LEN :
				       BOLT_TCPOPT_LEN_SYN));
	} else if (plainly >= 0) {
		CHECK(form == BOLT_OPT_BAD);
	}
	if (form == BOLT_OPT_FULL) {
		bolt_opt_read(b.p + off, &opt);
		bolt_opt_write(again, &opt);
		CHECK(!memcmp(again, b.p + off, sizeof(again)));
	}
	if (form == BOLT_OPT_SYN) {
		bolt_opt_write_syn(again);
		CHECK(!memcmp(again, b.p + off, BOLT_TCPOPT_LEN_SYN));
	}
	if (bolt_opt_seek(b.p, b.len, BOLT_TCPOPT_SACK, &off))
		CHECK(b.p[off] == BOLT_TCPOPT_SACK && off + b.p[off + 1] <= b.len);
	free(b.p);
}

static void make_room(struct input *in)
{
	struct block b = options(in, true);
	u8 was[BOLT_TCPOPT_SPACE];
	unsigned int need = 4 * take_below(in, 11), i = 0, k = 0;
	bool dsack = take_once_in(in, 2);
	int n, size, kept, bytes = 0;
	bool trimmed = false, lost;

	memcpy(was, b.p, sizeof(was));
	n = bolt_opt_make_room(b.p, b.len & ~3, dsack, need, &lost);
	b.len &= ~3;
	if (n < 0 || n == (int)b.len) {
		CHECK(n < 0 || n + need <= BOLT_TCPOPT_SPACE);
		CHECK(!memcmp(was, b.p, sizeof(was)) || n >= 0);
		free(b.p);
		return;
	}
	CHECK(n % 4 == 0 && n + need <= BOLT_TCPOPT_SPACE);
	/* what is left is what was there, in its order */
	for (; (size = bolt_opt_next(was, b.len, &i)) > 0; i += size) {
		if (was[i] == BOLT_TCPOPT_ACCECN0 || was[i] == BOLT_TCPOPT_ACCECN1)
			continue;
		kept = bolt_opt_next(b.p, n, &k);
		CHECK(kept > 0 && b.p[k] == was[i]);
		if (was[i] == BOLT_TCPOPT_SACK)
			CHECK(kept >= min(size, dsack ? 18 : 10) && kept <= size);
		else
			CHECK(kept == size);
		CHECK((size - kept) % 8 == 0 || kept % 8 == 2);
		trimmed |= kept < size;
		bytes += kept;
		CHECK(!memcmp(b.p + k + 2, was + i + 2, kept - 2));
		k += kept;
	}
	CHECK(!bolt_opt_next(b.p, n, &k));
	/* and there was no room for a block more */
	CHECK(!trimmed || bytes + 8 + need > BOLT_TCPOPT_SPACE);
	free(b.p);
}

static void numbers(struct input *in)
{
	u32 delay = take_range(in, 0, U32_MAX), hops = take_range(in, 0, 300), got;
	u8 now = take_u8(in), last = take_u8(in);
	u16 rq = bolt_rq_pack(delay, hops);
	unsigned int d = bolt_inc_delta(now, last);

	CHECK(bolt_rq_hops(rq) == min(hops, 15U));
	got = bolt_rq_delay_ns(rq);
	CHECK(got <= delay);
	if (delay < 133000000)
		CHECK(delay - got < 16 || delay - got <= delay / 100);
	else
		CHECK(got > 130000000);
	CHECK(d < 128 && (!d || (u8)(last + d) == now));
	CHECK(!d || !bolt_inc_delta(last, now) || d == 128);
	CHECK(bolt_hops_of_ttl(now) + now == 64 || bolt_hops_of_ttl(now) + now == 128 ||
	      bolt_hops_of_ttl(now) + now == 255);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	struct input in = input_begin(data, len);

	find(&in);
	make_room(&in);
	numbers(&in);
	return 0;
}
