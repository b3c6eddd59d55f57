// SPDX-License-Identifier: GPL-2.0
/*
 * lablink.ko: pairs of devices with a rate and a delay, exact to the nanosecond,
 * for the lab. Documentation/lab-link.rst has the model and the interface.
 */
#include <linux/init.h>
#include <linux/module.h>
#include "lablink.h"

static int __init lablink_init(void)
{
	int err;

	err = lab_events_init();
	if (err)
		return err;
	err = lab_measure_init();
	if (err)
		goto exit_events;
	err = lab_dev_init();
	if (err)
		goto exit_measure;
	err = lab_ctl_init();
	if (err)
		goto exit_dev;
	return 0;

exit_dev:
	lab_dev_exit();
exit_measure:
	lab_measure_exit();
exit_events:
	lab_events_exit();
	return err;
}

static void __exit lablink_exit(void)
{
	lab_ctl_exit();
	lab_dev_exit();
	lab_capture_exit();
	lab_follow_exit();
	lab_measure_exit();
	lab_events_exit();
}

module_init(lablink_init);
module_exit(lablink_exit);
MODULE_DESCRIPTION("Pairs of devices with a rate and a delay, for network experiments");
MODULE_LICENSE("GPL");
