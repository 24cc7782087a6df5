import type { ObservableResult } from '@opentelemetry/api'
import type { HookResult } from '../contract/index.ts'
import { LABEL } from '../contract/semconv/index.ts'

type Counts = Record<HookResult, number>

function noCounts(): Counts {
  return { ok: 0, ignored: 0, duplicate: 0, error: 0 }
}

export class HookCounts {
  readonly #total: Counts = noCounts()
  readonly #byHook = new Map<string, Counts>()

  get total(): Readonly<Counts> {
    return { ...this.#total }
  }

  count(hook: string, result: HookResult): void {
    this.#total[result] += 1
    let counts = this.#byHook.get(hook)
    if (counts === undefined) {
      counts = noCounts()
      this.#byHook.set(hook, counts)
    }
    counts[result] += 1
  }

  /** Counts a record that arrived after shutdown. No metric shows it. */
  countLate(): void {
    this.#total.ignored += 1
  }

  observe(observer: ObservableResult): void {
    for (const [hook, counts] of this.#byHook) {
      for (const [result, count] of Object.entries(counts)) {
        if (count > 0) observer.observe(count, { [LABEL.hook]: hook, [LABEL.result]: result })
      }
    }
  }
}
