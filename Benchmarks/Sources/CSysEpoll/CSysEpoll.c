#include "CSysEpoll.h"
