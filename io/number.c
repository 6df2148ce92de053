/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers with a decimal point, whatever the locale: the C locale is put in force for the calling thread while the C
 * library converts. */
#include "io/number.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#ifdef __APPLE__
#include <xlocale.h>
#endif
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static locale_t c_locale;
static pthread_once_t c_locale_once = PTHREAD_ONCE_INIT;

static void make_c_locale(void) { c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0); }

static locale_t enter_c_locale(void)
{
    pthread_once(&c_locale_once, make_c_locale);
    return uselocale(c_locale);
}

bool io_number_parse(const char *text, const char **end, double *value)
{
    char *stop;
    locale_t before = enter_c_locale();
    *value = strtod(text, &stop);
    uselocale(before);
    *end = stop;
    return stop != text;
}

bool io_number_is(const char *text, double *value)
{
    const char *end;
    return io_number_parse(text, &end, value) && end[strspn(end, " \t")] == 0;
}

bool io_integer_is(const char *text, int64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoimax(text, &end, 10);
    return end != text && errno == 0 && end[strspn(end, " \t")] == 0;
}

char *io_number_format(char *buffer, double value, int digits)
{
    locale_t before = enter_c_locale();
    snprintf(buffer, 32, "%.*g", digits, value);
    uselocale(before);
    return buffer;
}

char *io_number_shortest(char *buffer, double value, bool single)
{
    for (int digits = 6; digits <= 17; digits++) {
        double again;
        io_number_format(buffer, value, digits);
        if (io_number_is(buffer, &again) && (single ? (float)again == (float)value : again == value)) break;
    }
    return buffer;
}
