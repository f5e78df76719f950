#include "told.h"
