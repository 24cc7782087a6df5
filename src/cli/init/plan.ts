/** What `init` would do for one host, worked out before anything is touched. */
export type Plan = Change | Nothing | ByHand

export interface Change {
  readonly kind: 'change'
  /** Absolute. */
  readonly file: string
  /** Undefined where there is no such file. */
  readonly before: string | undefined
  /** Undefined when the file goes. */
  readonly after: string | undefined
  /** Whether it holds what the user wrote, that the change might spoil: then what it was is kept beside it. */
  readonly isUsers: boolean
  /** Whether it holds a secret: then nobody else may read it. */
  readonly isPrivate?: boolean
  /** What has to be there before the file says so. @throws Error in one line */
  readonly prepare?: () => void
  /** Links to what of ours the host loads; they come before the file, and go after it, as may a file of ours. */
  readonly links?: readonly Link[]
  /** Folders that go, too, when nothing is left in them; the innermost first. */
  readonly folders?: readonly string[]
  /** A backup that the change makes superfluous. */
  readonly restored?: string
  readonly notes: readonly string[]
}

export interface Link {
  readonly path: string
  /** Undefined when it goes. */
  readonly to: string | undefined
}

export interface Nothing {
  readonly kind: 'nothing'
  readonly file: string
  readonly why: string
  readonly notes?: readonly string[]
}

/** A file that we cannot edit without spoiling it. */
export interface ByHand {
  readonly kind: 'by-hand'
  readonly file: string
  readonly why: string
  /** What the user has to do, as lines to print. */
  readonly lines: readonly string[]
}

/** What a plan is made of. */
export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Absolute; empty where the system knows of none. */
  readonly home: string
  /** Where hookspan is installed. */
  readonly folder: string
  /** The receiver's, where it has none yet: one for all agents that are set up at once. */
  readonly freshToken: string
  /** Likewise its port: what is free now need not be so for the next agent. @throws Error in one line */
  readonly freshPort: () => Promise<number>
  /** Whether the agent is to wait for what hooks decide. Undefined: as it is set up already. */
  readonly guards?: 'open' | 'closed' | 'off' | undefined
}

export interface HostSetup {
  /** As the host calls itself. */
  readonly title: string
  /** Hooks can act in it. */
  readonly canGuard?: boolean
  /** Its own, which is there when it has run: absolute. @throws Error when there is no home directory */
  folder(surroundings: Surroundings): string
  /** @throws Error in one line */
  enable(surroundings: Surroundings): Promise<Plan>
  /** @throws Error in one line */
  undo(surroundings: Surroundings): Promise<Plan>
  /** The configuration as text, and where it belongs. @throws Error in one line */
  print(surroundings: Surroundings): { readonly file: string; readonly content: string; readonly note: string }
}
