/* SPDX-License-Identifier: GPL-2.0 */
/* What the plugin of tc and boltctl both call options of sfc. */
#ifndef SFC_NAMES_H
#define SFC_NAMES_H

#include <linux/pkt_sch_sfc.h>

/* --- options that are on or off --- */

static const struct {
	const char *on, *off, *json;
	__u32 flag;
} sfc_switches[] = {
	{ "bolt",	"nobolt",	"bolt",		TC_SFC_F_BOLT },
	{ "src",	"nosrc",	"src",		TC_SFC_F_SRC },
	{ "pru",	"nopru",	"pru",		TC_SFC_F_PRU },
	{ "sm",		"nosm",		"sm",		TC_SFC_F_SM },
	{ "split-gso",	"no-split-gso",	"split_gso",	TC_SFC_F_SPLIT_GSO },
	{ "sfc",	"nosfc",	"sfc",		TC_SFC_F_SFC },
	{ "edge",	"noedge",	"edge",		TC_SFC_F_EDGE },
	{ "cache",	"nocache",	"cache",	TC_SFC_F_CACHE },
	{ "hold",	"nohold",	"hold",		TC_SFC_F_HOLD },
};

#define N_SWITCHES	(sizeof(sfc_switches) / sizeof(sfc_switches[0]))

static const char * const sfc_bts[] = {
	[TC_SFC_BTS_INGRESS]	= "ingress",
	[TC_SFC_BTS_EGRESS]	= "egress",
	[TC_SFC_BTS_OFF]	= "off",
};

#define N_BTS		(sizeof(sfc_bts) / sizeof(sfc_bts[0]))

#endif
