/* SPDX-License-Identifier: GPL-2.0 */
/* Generic netlink family "sfc", and what it needs of a namespace */
#ifndef _SFC_GENL_H
#define _SFC_GENL_H

#include <bolt_events.h>
#include <uapi/linux/sfc_netlink.h>

#include "cache.h"

struct sfc_cache;
struct sfc_cache_stats;

/* genl.c */
int sfc_genl_register(void);
void sfc_genl_unregister(void);
int sfc_genl_wq_init(void);
void sfc_genl_wq_exit(void);
void sfc_genl_net_init(struct net *net, struct bolt_events *ev);

/* cache.c */
struct bolt_events *sfc_net_events(struct net *net);
struct sfc_cache *sfc_net_cache(struct net *net);
unsigned int sfc_cache_size(void);
bool sfc_cache_entry(struct sfc_cache *cache, unsigned int at, struct sfc_entry *e);

#endif /* _SFC_GENL_H */
