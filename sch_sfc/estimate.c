// SPDX-License-Identifier: GPL-2.0
/*
 * The incast estimator's table (SFC, section 3.4), one per namespace: traffic towards a
 * destination counts by whichever port it leaves.  Entries are made by the first
 * packet, before anybody is congested; a slot whose destination has been silent for a while is
 * taken over by another one.  Two that meet in a slot: the second goes without.
 */
#include <linux/jhash.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "sfc.h"

#define SFC_ESTIMATES	1024

struct sfc_estimator {
	u32			seed;
	struct {
		spinlock_t	lock;		/* for its slot */
		struct sfc_key	key;
		struct sfc_dre	dre;
	}			slots[SFC_ESTIMATES];
};

/* A packet of @bytes leaves for @key.  Returns the pause that the queue there is worth, ns. */
u32 sfc_estimate(struct sfc_estimator *est, const struct sfc_dre_cfg *cfg,
		 const struct sfc_key *key, u32 bytes, u32 max_ns, u64 now)
{
	u32 i = jhash2((const u32 *)key, sizeof(*key) / sizeof(u32), est->seed) % SFC_ESTIMATES;
	typeof(est->slots[0]) *s = &est->slots[i];
	u32 pause_ns = 0;

	spin_lock_bh(&s->lock);
	if (!sfc_key_equal(&s->key, key)) {
		if (s->key.family && !sfc_dre_idle(cfg, &s->dre, now))
			goto out;
		s->key = *key;
		s->dre = (struct sfc_dre){ };
	}
	sfc_dre_add(cfg, &s->dre, bytes, now);
	pause_ns = sfc_dre_pause_ns(cfg, &s->dre, max_ns);
out:
	spin_unlock_bh(&s->lock);
	return pause_ns;
}

struct sfc_estimator *sfc_estimator_alloc(void)
{
	struct sfc_estimator *est = kvzalloc(sizeof(*est), GFP_KERNEL);
	unsigned int i;

	if (!est)
		return NULL;
	est->seed = get_random_u32();
	for (i = 0; i < SFC_ESTIMATES; i++)
		spin_lock_init(&est->slots[i].lock);
	return est;
}
