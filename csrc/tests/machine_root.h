/* A machine that is a folder of the test's own: its files in /proc and /sys, for the root of
 * threads/load.h. */
#ifndef HETSCHED_TESTS_MACHINE_ROOT_H
#define HETSCHED_TESTS_MACHINE_ROOT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "check.h"

static char root[] = "/tmp/hetsched-test-XXXXXX";

/* Makes the folder; returns whether that succeeded. */
static int make_root(void) { return CHECK(mkdtemp(root) != NULL); }

/* Writes a file of the machine, and the folders that it is in. */
static void write_file(const char *path, const char *text)
{
    char name[512];
    snprintf(name, sizeof name, "%s/%s", root, path);
    for (char *slash = name + sizeof root; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        mkdir(name, 0700);
        *slash = '/';
    }
    FILE *file = fopen(name, "w");
    if (!CHECK(file != NULL)) return;
    fputs(text, file);
    fclose(file);
}

static void remove_root(void)
{
    char command[512];
    snprintf(command, sizeof command, "rm -rf %s", root);
    CHECK(system(command) == 0);
}

#endif
