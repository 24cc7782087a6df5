/**
 * The subset of Pi's extension API that this adapter uses, read from `@earendil-works/pi-coding-agent` 0.87.1
 * (`dist/core/extensions/types.d.ts`); it is the same in 0.58 and 1.5. All values are unchecked.
 */

/** Second argument of every handler, created for each event. After the session has ended, reading it throws. */
export interface PiContext {
  readonly sessionManager?: { getSessionId?(): string }
  readonly model?: PiModel | undefined
  readonly signal?: AbortSignal | undefined
  readonly hasUI?: boolean
  readonly ui?: PiUi
  readonly cwd?: string
  /** `tui`, `print`, `rpc` or `json`. Not in 0.58 and 0.74. */
  readonly mode?: string
}

/** The user interface. It exists even without a user (`hasUI` is false); Pi then answers by itself. */
export interface PiUi {
  notify?(message: string, kind: 'info' | 'warning' | 'error'): void
  /** Resolves to false if the user does not answer, or if the run is stopped. */
  confirm?(title: string, message: string, options?: { readonly signal?: AbortSignal | undefined }): Promise<boolean>
}

/** The model in use. */
export interface PiModel {
  readonly provider?: string
  readonly id?: string
  readonly api?: string
  readonly baseUrl?: string
}

/** The interface that Pi passes to an extension. */
export interface PiExtensionApi {
  /** Adds a handler. An event name unknown to this version of Pi is never emitted. Pi awaits handlers one after another. */
  on(event: string, handler: (event: unknown, context: PiContext) => unknown): unknown
}

/** The default export of an extension module. */
export type PiExtension = (pi: PiExtensionApi) => void
