/**
 * What we use of Pi's extension API, as it is in `@earendil-works/pi-coding-agent` 0.87.1 (`dist/core/extensions/types.d.ts`);
 * 0.58 and 1.5 are the same in it. Nothing of it is trusted: every value is read as if it could be anything.
 */

/** Second argument of every handler. Pi makes one for each event; reading one of a session that was left throws. */
export interface PiContext {
  readonly sessionManager?: { getSessionId?(): string }
  readonly model?: PiModel | undefined
  /** Of the run that is under way. */
  readonly signal?: AbortSignal | undefined
  readonly hasUI?: boolean
  readonly ui?: PiUi
  /** Folder in which its tools work. */
  readonly cwd?: string
  /** `tui`, `print`, `rpc` or `json`. Not in 0.58 and 0.74. */
  readonly mode?: string
}

/** What a person sees. Without one (`hasUI` is false) Pi has all of it, too, and answers by itself. */
export interface PiUi {
  notify?(message: string, kind: 'info' | 'warning' | 'error'): void
  /** Resolves to false where nobody answers, or the run is stopped. */
  confirm?(title: string, message: string, options?: { readonly signal?: AbortSignal | undefined }): Promise<boolean>
}

/** The model in use. */
export interface PiModel {
  readonly provider?: string
  readonly id?: string
  readonly api?: string
  readonly baseUrl?: string
}

/** What Pi gives an extension. */
export interface PiExtensionApi {
  /** An event of a name that this Pi does not know never comes. Handlers are waited for, one after another. */
  on(event: string, handler: (event: unknown, context: PiContext) => unknown): unknown
}

/** What a module of an extension has as its default export. */
export type PiExtension = (pi: PiExtensionApi) => void
