# SPDX-License-Identifier: GPL-2.0
"""The lab: scenarios over the real Linux TCP stack in virtual time."""
