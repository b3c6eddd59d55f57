/* SPDX-License-Identifier: GPL-2.0 */
/* The keys of control messages, and the tags that they make */
#ifndef _BOLT_KEYS_H
#define _BOLT_KEYS_H

#include <linux/siphash.h>

#include <bolt_msg.h>

/*
 * A key is replaced without a gap: receivers get the new key before any sender uses it, and keep
 * the old one until no sender does.  So two keys may be valid; a single one is stored twice.
 */
struct bolt_keys {
	siphash_key_t	sign;
	siphash_key_t	other;
};

static inline void bolt_key_set(siphash_key_t *key, const u8 *raw)
{
	key->key[0] = get_unaligned_le64(raw);
	key->key[1] = get_unaligned_le64(raw + sizeof(u64));
}

/* @raw: the bytes of one key or of two.  Returns false if @len is neither. */
static inline bool bolt_keys_set(struct bolt_keys *k, const u8 *raw, unsigned int len)
{
	if (len != sizeof(k->sign) && len != sizeof(*k))
		return false;
	bolt_key_set(&k->sign, raw);
	bolt_key_set(&k->other, raw + len - sizeof(k->other));
	return true;
}

/* Write the tag over the bytes before it, as the last of @len bytes; see struct bolt_ctl */
static inline void bolt_msg_put_tag(u8 *p, unsigned int len, const siphash_key_t *key)
{
	len -= BOLT_CTL_TAG_LEN;
	put_unaligned_be64(siphash(p, len, key), p + len);
}

static inline bool bolt_msg_tag_matches(const u8 *p, unsigned int len, const struct bolt_keys *k)
{
	u64 tag;

	len -= BOLT_CTL_TAG_LEN;
	tag = get_unaligned_be64(p + len);
	return tag == siphash(p, len, &k->sign) || tag == siphash(p, len, &k->other);
}

/* May hosts accept a message?  Call after bolt_msg_parse(). */
static inline bool bolt_msg_tag_ok(const u8 *p, unsigned int len, const struct bolt_keys *k)
{
	return p[offsetof(struct bolt_ctl, flags)] & BOLT_CTL_F_TAGGED &&
	       bolt_msg_tag_matches(p, len, k);
}

/* May switches cache a message?  Call after bolt_msg_parse(). */
static inline bool bolt_msg_cache_ok(const u8 *p, unsigned int len, const struct bolt_keys *k)
{
	u8 flags = p[offsetof(struct bolt_ctl, flags)];

	return flags & BOLT_CTL_F_CACHEABLE &&
	       bolt_msg_tag_matches(p, bolt_msg_cache_end(flags, len), k);
}

#endif /* _BOLT_KEYS_H */
