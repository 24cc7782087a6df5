import { SpanAttributes } from '../../reading/span-attributes.ts'
import { factsOf } from '../../reading/span-facts.ts'
import type { Database } from './database.ts'
import { placeOfRow, readSpanAt } from './read-places.ts'
import type { TraceRow } from './trace-row.ts'

/** Longer lines are not read for a title. One of 8 MiB takes some 50 ms, once. */
const MAX_LINE_BYTES = 8_388_608
const MAX_REMEMBERED = 5_000

/** The titles of turns in a list. Cached, because they are only in the log and slow to read. */
export class Titles {
  readonly #database: Database
  readonly #known = new Map<number, string>()

  constructor(database: Database) {
    this.#database = database
  }

  /** The prompt, or else the name of the span that would contain it: one line, printable. */
  async of({ root, namespace }: Pick<TraceRow, 'root' | 'namespace'>): Promise<string> {
    const known = this.#known.get(root)
    if (known !== undefined) return known
    const title = await this.#read(root, namespace)
    if (this.#known.size >= MAX_REMEMBERED) this.#known.clear()
    this.#known.set(root, title)
    return title
  }

  async #read(root: number, namespace: string): Promise<string> {
    const place = placeOfRow(this.#database, root)
    const span = place === undefined || place.length > MAX_LINE_BYTES ? undefined : await readSpanAt(place)
    if (span === undefined) return ''
    const { hint, name } = factsOf({ span, children: [], orphan: false, elsewhere: false, awaiting: false }, namespace)
    return new SpanAttributes(span, namespace).text('input.value') || hint || name
  }
}
