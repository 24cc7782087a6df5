import { SpanAttributes } from '../viewer/span-attributes.ts'
import { factsOf } from '../viewer/span-facts.ts'
import type { Database } from './database.ts'
import { placeOfRow, readSpanAt } from './read-places.ts'
import type { TraceRow } from './trace-row.ts'

/** A longer line is not read for the sake of a title. One of 8 MiB takes some 50 ms, once. */
const MAX_LINE_BYTES = 8_388_608
const MOST_REMEMBERED = 5_000

/** What turns are called in a list: it stands in the log alone, where looking it up takes a while. */
export class Titles {
  readonly #database: Database
  readonly #known = new Map<number, string>()

  constructor(database: Database) {
    this.#database = database
  }

  /** What it was asked, else the name of the span that would say so: one line, printable. */
  async of({ root, namespace }: Pick<TraceRow, 'root' | 'namespace'>): Promise<string> {
    const known = this.#known.get(root)
    if (known !== undefined) return known
    const title = await this.#read(root, namespace)
    if (this.#known.size >= MOST_REMEMBERED) this.#known.clear()
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
