import { isBlank } from './backend-fields.js';
import { readBackends } from './backends.js';
import { readList, readMap, readPrometheus } from './collections.js';
import { readBool, readInteger, readMillis, readNumber, readText, readWord } from './scalars.js';
/** Reads a key's value as its row says. Undefined: nothing is set there (absent, null, blank text). */
export function readValue(row, value, site) {
    if (isBlank(value))
        return undefined;
    switch (row.type) {
        case 'bool':
            return readBool(value);
        case 'number':
            return readNumber(value, row);
        case 'integer':
            return readInteger(value, row);
        case 'millis':
            return readMillis(value, row);
        case 'text':
            return readText(value, row.pattern);
        case 'enum':
            return readWord(value, row.values ?? []);
        case 'list':
            return readList(value, row, site);
        case 'map':
            return readMap(value, site);
        case 'backends':
            return readBackends(value, site);
        case 'prometheus':
            return readPrometheus(value, site);
    }
}
