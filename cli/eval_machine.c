#include "eval_machine.h"

#include <stdlib.h>
#include <string.h>

#include "eval/machine.h"
#include "eval/peers.h"

void eval_machine_json(io_json *json)
{
    ev_machine machine;
    ev_machine_find(&machine);
    io_json_object(json, "machine");
    io_json_string(json, "processor", machine.processor);
    io_json_integer(json, "cores", machine.cores);
    io_json_number(json, "memory_gib", machine.memory_gib);
    io_json_string(json, "system", machine.system);
    io_json_string(json, "features", machine.features);
    io_json_string(json, "compiler", machine.compiler);
    io_json_string(json, "keybits", machine.library);
    io_json_string(json, "peers", machine.peers);
    io_json_end(json);
}

static void append(char **list, const char *name)
{
    size_t length = strlen(*list);
    *list = io_grow(*list, length + strlen(name) + 2, 1);
    if (length > 0) (*list)[length++] = ',';
    strcpy(*list + length, name);
}

char *eval_all_methods(void)
{
    char *list = io_copy_string("");
    const char *name;
    int32_t available = 0;
    for (int32_t i = 0; (name = kb_model_builtin_name(i, &available)) != NULL; i++)
        if (available) append(&list, name);
    for (int i = 0; (name = ev_peer_name(i)) != NULL; i++) append(&list, name);
    return list;
}

int eval_measure(eval_options *own, cli_common *common, int count, char **arguments, ev_speed_options *speed, void *job,
                 eval_measurer *measure)
{
    io_error error;
    io_names images = {NULL, 0};
    eval_methods methods;
    int code = CLI_FAILED;
    if (count < 1) return cli_usage_error(common, "it takes images");
    if (!eval_options_settle(own, common) || !cli_ready(common)) return common->exit_code;
    char *names = own->models ? io_copy_string(own->models) : eval_all_methods();
    if (!io_names_images(&images, count, arguments, &error)) {
        cli_error("%s", error.text);
    } else if (eval_methods_open(&methods, names, own->support, &own->descriptors)) {
        speed->keypoints = own->source;
        speed->scale = own->scale;
        speed->parallel = common->parallel;
        speed->threads = common->parallel->threads;
        speed->quiet = common->quiet;
        code = measure(job, common, &images, &methods, speed);
        eval_methods_free(&methods);
    }
    free(names);
    io_names_free(&images);
    return code;
}
