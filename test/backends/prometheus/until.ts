import { setTimeout as sleep } from 'node:timers/promises'

const DEADLINE_MILLIS = 60_000
const POLL_MILLIS = 200

/**
 * Asks until the answer will do.
 *
 * @param missing what an answer still lacks: nothing, when it will do
 * @throws with what was missing, when it never does
 */
export async function until<Answer>(
  ask: () => Promise<Answer>,
  missing: (answer: Answer) => unknown,
  what: string,
): Promise<Answer> {
  for (const deadlineAt = Date.now() + DEADLINE_MILLIS; ; await sleep(POLL_MILLIS)) {
    const answer = await ask()
    const left = missing(answer)
    if (left === undefined) return answer
    if (Date.now() > deadlineAt) throw new Error(`${what}: ${JSON.stringify(left)}`)
  }
}
