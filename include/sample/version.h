/* The version of sample that these headers were installed with. C and C++. */
#ifndef SAMPLE_VERSION_H
#define SAMPLE_VERSION_H

#define SAMPLE_VERSION_MAJOR 0
#define SAMPLE_VERSION_MINOR 1
#define SAMPLE_VERSION_PATCH 0
#define SAMPLE_VERSION "0.1.0"

#endif
