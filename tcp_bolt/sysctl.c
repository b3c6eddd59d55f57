// SPDX-License-Identifier: GPL-2.0
/*
 * The settings of a namespace: net.bolt.*, and for experiments net.bolt.debug.*.
 * Documentation/tcp_bolt.rst describes them.
 */

#include <linux/slab.h>
#include <linux/sysctl.h>

#include "bolt.h"

/* Longer than any setting that is text, so that what is cut off is refused */
#define BOLT_TEXT_MAX	128

struct bolt_setting {
	const char	*name;
	size_t		offset;		/* in struct bolt_net */
	int		def, least, most;
	/* applies and stores a new value, or refuses it; NULL: just store it */
	int		(*apply)(struct bolt_net *bn, int value);
	/* of a setting that is text, likewise, and the current one */
	int		(*store)(struct bolt_net *bn, char *text);
	void		(*show)(struct bolt_net *bn, char *text);
};

static int *bolt_setting_at(struct bolt_net *bn, const struct bolt_setting *s)
{
	return (int *)((char *)bn + s->offset);
}

static int bolt_sysctl_set(BOLT_CTL_TABLE *table, int write, void *buf, size_t *len, loff_t *pos)
{
	const struct bolt_setting *s = table->extra1;
	struct bolt_net *bn = table->data;
	int value = READ_ONCE(*bolt_setting_at(bn, s)), ret;
	struct ctl_table tmp = {
		.data = &value, .maxlen = sizeof(value), .mode = table->mode,
		.extra1 = (void *)&s->least, .extra2 = (void *)&s->most,
	};

	ret = proc_dointvec_minmax(&tmp, write, buf, len, pos);
	if (ret || !write)
		return ret;
	if (s->apply)
		return s->apply(bn, value);
	WRITE_ONCE(*bolt_setting_at(bn, s), value);
	/* existing flows read their link's rate again, which the setting may be about */
	atomic_inc_return_release(&bn->rate_gen);
	return 0;
}

static int bolt_sysctl_text(BOLT_CTL_TABLE *table, int write, void *buf, size_t *len, loff_t *pos)
{
	const struct bolt_setting *s = table->extra1;
	struct bolt_net *bn = table->data;
	char text[BOLT_TEXT_MAX] = "off";
	struct ctl_table tmp = { .data = text, .maxlen = sizeof(text), .mode = table->mode };
	int ret;

	s->show(bn, text);
	ret = proc_dostring(&tmp, write, buf, len, pos);
	if (!ret && write)
		ret = s->store(bn, text);
	/* it may have been a key */
	memzero_explicit(text, sizeof(text));
	return ret;
}

/* One or two keys of 32 hexadecimal digits.  Returns the bytes written to @raw, or 0. */
static unsigned int bolt_parse_keys(char *text, u8 raw[sizeof(struct bolt_keys)])
{
	unsigned int len = 0;
	char *word;

	while ((word = strsep(&text, ","))) {
		if (len == sizeof(struct bolt_keys) || strlen(word) != 2 * sizeof(siphash_key_t) ||
		    hex2bin(raw + len, word, sizeof(siphash_key_t)))
			return 0;
		len += sizeof(siphash_key_t);
	}
	return len;
}

/* "NEW", or "NEW,OLD" while keys are replaced; "off": no key */
static int bolt_store_keys(struct bolt_net *bn, char *text)
{
	struct bolt_keys *keys = NULL;
	u8 raw[sizeof(*keys)];
	bool valid;

	if (strcmp(text, "off")) {
		keys = kmalloc(sizeof(*keys), GFP_KERNEL);
		if (!keys)
			return -ENOMEM;
		valid = bolt_keys_set(keys, raw, bolt_parse_keys(text, raw));
		memzero_explicit(raw, sizeof(raw));
		if (!valid) {
			kfree_sensitive(keys);
			return -EINVAL;
		}
	}
	/* with xchg(), concurrent writers each free a different key */
	keys = unrcu_pointer(xchg(&bn->tag_key, RCU_INITIALIZER(keys)));
	if (keys)
		synchronize_rcu();
	kfree_sensitive(keys);
	return 0;
}

/* Keys are never shown. */
static void bolt_show_keys(struct bolt_net *bn, char *text)
{
	if (rcu_access_pointer(bn->tag_key))
		strscpy(text, "set", BOLT_TEXT_MAX);
}

#define BOLT_SET(_name, _def, _least, _most, ...) {			\
	.name = #_name, .offset = offsetof(struct bolt_net, _name),	\
	.def = _def, .least = _least, .most = _most, __VA_ARGS__ }

#define BOLT_SET_SWIFT(_name, _def, _least, _most) {			\
	.name = "swift_" #_name, .offset = offsetof(struct bolt_net, swift._name), \
	.def = _def, .least = _least, .most = _most }

/* Default, minimum, maximum; units are in the names.  tcp_swift.rst has the sources of Swift's */
static const struct bolt_setting bolt_settings[] = {
	BOLT_SET(port,			BOLT_CTL_PORT, 1, 65535, .apply = bolt_control_rebind),
	BOLT_SET(base_rtt_ns,		0, 0, 1000000000),
	BOLT_SET(rate_mbps,		0, 0, 4000000),
	BOLT_SET(overhead,		-1, -1, 256),
	BOLT_SET(burst_segs,		1, 1, 64),
	BOLT_SET(brownfield,		1, 0, 1),
	BOLT_SET(sfc,			0, 0, 1, .apply = bolt_sfc_set),
	BOLT_SET(hooks,			0, 0, 1, .apply = bolt_hooks_set),
	BOLT_SET(max_pause_us,		10000, 1, BOLT_PAUSE_ABSURD_NS / 1000),
	BOLT_SET(watchdog_pct,		95, 1, 100),
	BOLT_SET(watchdog_interval_us,	200000, 1000, 60000000),
	BOLT_SET(watchdog_recovery_us,	200000, 1000, 60000000),
	BOLT_SET(min_ttl,		0, 0, 255),
	BOLT_SET(tag_key,		0, 0, 0, .store = bolt_store_keys, .show = bolt_show_keys),
	BOLT_SET(fallback,		0, 0, 0, .store = bolt_fallback_set,
		 .show = bolt_fallback_name),
	BOLT_SET_SWIFT(base_ns,		10000, 0, 1000000000),
	BOLT_SET_SWIFT(hop_ns,		1000, 0, 10000000),
	BOLT_SET_SWIFT(fs_range_ns,	100000, 0, 1000000000),
	BOLT_SET_SWIFT(endpoint_ns,	100000, 1, 1000000000),
};

static const struct bolt_setting bolt_debug_settings[] = {
	BOLT_SET(max_bdp_pct,		125, 100, 1000),
	BOLT_SET(min_cwnd_milli,	1, 1, 1000),
	BOLT_SET(ai,			1, 0, 1),
	BOLT_SET(idle_restart,		1, 0, 1),
	BOLT_SET(short_bdp,		64, 0, 1024),
	BOLT_SET(paper,			0, 0, 1),
};

/* Register a table, and set the defaults.  NULL: no memory */
static struct ctl_table_header *bolt_sysctl_add(struct bolt_net *bn, const char *path,
						const struct bolt_setting *s, unsigned int n)
{
	/* before 6.6 an empty entry ends the table */
	struct ctl_table *table = kcalloc(n + 1, sizeof(*table), GFP_KERNEL), *t;
	struct ctl_table_header *header;

	if (!table)
		return NULL;
	for (t = table; t < table + n; t++, s++) {
		t->procname = s->name;
		t->data = bn;
		t->mode = s->store == bolt_store_keys ? 0600 : 0644;
		t->proc_handler = s->store ? bolt_sysctl_text : bolt_sysctl_set;
		t->extra1 = (void *)s;
		if (!s->store)
			*bolt_setting_at(bn, s) = s->def;
	}
	header = bolt_register_net_sysctl(bn->net, path, table, n);
	if (!header)
		kfree(table);
	return header;
}

static void bolt_sysctl_remove(struct ctl_table_header *header)
{
	const struct ctl_table *table;

	if (!header)
		return;
	table = header->ctl_table_arg;
	unregister_net_sysctl_table(header);
	kfree(table);
}

int bolt_sysctl_init(struct bolt_net *bn)
{
	bn->sysctl = bolt_sysctl_add(bn, "net/bolt", bolt_settings, ARRAY_SIZE(bolt_settings));
	bn->debug = bolt_sysctl_add(bn, "net/bolt/debug", bolt_debug_settings,
				    ARRAY_SIZE(bolt_debug_settings));
	if (bn->sysctl && bn->debug)
		return 0;
	bolt_sysctl_exit(bn);
	return -ENOMEM;
}

void bolt_sysctl_exit(struct bolt_net *bn)
{
	bolt_sysctl_remove(bn->debug);
	bolt_sysctl_remove(bn->sysctl);
}
