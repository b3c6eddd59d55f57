# SPDX-License-Identifier: GPL-2.0
# To be included behind O = DEFAULT, the directory that a Makefile builds in.  O is taken from the command line, as
# kbuild does, not from the environment, where it may be that of somebody's kernel; it becomes absolute.
# Neither make nor kbuild can quote a path: one that is not a plain word is refused, before anything is done with it.

unexport CDPATH

outdir_odd := ' " ` \ $$ \# % & ( ) * : ; < = > ? [ ] { | }
outdir_odd := $(strip $(foreach c,$(outdir_odd),$(findstring $c,$(CURDIR)$(value O))))
ifneq ($(words $(CURDIR)) $(words $(value O)) $(outdir_odd),1 1 )
$(error O='$(value O)' in '$(CURDIR)': make takes neither an empty path nor one with blanks or any of $$'"`\#%&()*:;<=>?[]{|}\)
endif

override O := $(abspath $(O))
ifneq ($(filter $(patsubst %/,%,$(or $(realpath $(O)),$(O)))/%,$(CURDIR)/),)
$(error O=$(O): the sources are in it)
endif
