import { setTimeout as pause } from 'node:timers/promises'

const POLL_MILLIS = 250
/** Phoenix files some twenty spans a second where the machine is busy. */
const PATIENCE_MILLIS = 240_000

/** Asks until the answer will do: a server takes spans at once, and shows and prices them a moment later. */
export async function eventually<Answer>(
  ask: () => Promise<Answer>,
  isEnough: (answer: Answer) => boolean,
): Promise<Answer> {
  const deadline = Date.now() + PATIENCE_MILLIS
  for (;;) {
    const answer = await ask()
    // The last answer is the caller's to complain of: it says what is missing.
    if (isEnough(answer) || Date.now() > deadline) return answer
    await pause(POLL_MILLIS)
  }
}
