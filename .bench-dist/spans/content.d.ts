import { type Capture, type ContentCategory, type ContentMode } from './capture.ts';
export interface CaptureSettings {
    readonly mode: ContentMode;
    readonly previewMaxChars: number;
    /** Caps of previews that differ from `previewMaxChars`. */
    readonly categoryMaxChars: Readonly<Partial<Record<ContentCategory, number | undefined>>>;
    /** Cap of one value in `full` mode. */
    readonly contentMaxChars: number;
    readonly conversationHistory: boolean;
    readonly conversationHistoryMaxChars: number;
    readonly senderId: boolean;
    /** From `createRedactor`. */
    readonly redact: (text: string) => string;
}
/** The capture policy, compiled once: what of a payload may leave the process, and in which form. */
export declare function createCapture(settings: CaptureSettings): Capture;
