import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { resources } from '../sdk.ts'
import { readAttributes } from './stored-attributes.ts'
import { type Fields, readFields, readOptionalText } from './stored-fields.ts'

const MAX_KEPT = 64
const MAX_KEPT_CHARS = 1 << 16

type Resource = ReadableSpan['resource']
type Scope = ReadableSpan['instrumentationScope']

/**
 * The resources and scopes of lines, where what reads the same is one object: the serializers group spans by identity.
 */
export class Origins {
  readonly #resources = new Kept<Resource>()
  readonly #scopes = new Kept<Scope>()

  /** Of an element of `resourceSpans`. @throws {DamagedLine} */
  resourceOf(group: Fields): Resource {
    return this.#resources.of([group['resource'], group['schemaUrl']], () => readResource(group))
  }

  /** Of an element of `scopeSpans`. @throws {DamagedLine} */
  scopeOf(group: Fields): Scope {
    return this.#scopes.of([group['scope'], group['schemaUrl']], () => readScope(group))
  }
}

/** Objects by the JSON that they were read from. */
class Kept<Value> {
  readonly #values = new Map<string, Value>()

  of(source: unknown, read: () => Value): Value {
    const json = JSON.stringify(source)
    const known = this.#values.get(json)
    if (known !== undefined) return known
    const value = read()
    if (this.#values.size >= MAX_KEPT) this.#values.clear()
    if (json.length <= MAX_KEPT_CHARS) this.#values.set(json, value)
    return value
  }
}

function readResource(group: Fields): Resource {
  const resource = readFields(group['resource'] ?? {}, 'a resource')
  const schemaUrl = readOptionalText(group['schemaUrl'], 'a schema URL')
  const attributes = readAttributes(resource['attributes'])
  return resources().resourceFromAttributes(attributes, schemaUrl === undefined ? {} : { schemaUrl })
}

function readScope(group: Fields): Scope {
  const scope = readFields(group['scope'] ?? {}, 'a scope')
  const version = readOptionalText(scope['version'], 'the version of a scope')
  const schemaUrl = readOptionalText(group['schemaUrl'], 'a schema URL')
  return {
    name: readOptionalText(scope['name'], 'the name of a scope') ?? '',
    ...(version === undefined ? {} : { version }),
    ...(schemaUrl === undefined ? {} : { schemaUrl }),
  }
}
