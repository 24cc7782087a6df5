import { type Command, type CommandPage, command, EXIT } from '../command.ts'

const PAGE = {
  name: 'hook',
  operand: { placeholder: 'HOST', offers: [] },
  about: `Hands what an agent tells its hook, on standard input, to the receiver (hookspan serve). It is for the
configuration of an agent: without options it prints nothing and exits with 0, whatever happens, and waits no
longer than 0.1 seconds for a receiver. Where there is none, the event is kept in a file for it, and one is started.

Agents start it for each hook. "node dist/hook.cjs HOST", from the folder of hookspan, is the same and quicker.`,
  options: {
    decide: { help: 'wait a second for what hooks that act decide; print it, and end as they say' },
    closed: { value: 'HOW', help: 'the same; where nobody says it end with 2 (exit2), or print HOW, a JSON object' },
    up: { help: 'if no receiver listens, wait up to 3 seconds for the one that was started' },
  },
} as const satisfies CommandPage

/** Only prints the help: `cli/main.ts` handles the command before loading anything else. */
export const hook: Command = command(PAGE, () => EXIT.ok)
