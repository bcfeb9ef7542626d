// A picture of stacked blocks over steps or times: one store of tiles, one window, one height. The
// timeline draws one device with it, the lanes several.
import type { Painter } from "../../gl/painter";
import type { Range } from "../../state/link/url";
import type { Domain } from "../../state/recording/domain";
import { STACK_PAINTERS } from "./layers/blocks";
import { type Canvases, type Listener, PictureScene } from "./scene";
import { TileStore } from "./tiles/tile_store";
import { XWindow } from "./window/glide";

export abstract class StackScene extends PictureScene<Painter> {
  /** visible bytes; null: fitted */
  y: Range | null = null;

  protected readonly window = new XWindow();
  protected readonly store = new TileStore(
    (tile) => this.arrived(tile?.engineMs ?? null),
    (tile) => this.blocks.painter.forget(tile),
    (error) => this.failed(error),
  );

  constructor(
    protected readonly canvases: Canvases,
    listener: Listener,
    allowGl: boolean,
  ) {
    super(canvases, STACK_PAINTERS, listener, allowGl);
  }

  override dispose(): void {
    super.dispose();
    this.store.dispose();
  }

  protected override get waiting(): number {
    return this.store.waiting;
  }

  abstract get domain(): Domain | null;

  /** At once while a hand moves it; gliding when the page jumps. */
  moveTo(x: Range, glide: boolean): void {
    const { domain } = this;
    if (!domain) return;
    this.window.moveTo(x, glide, domain);
    this.redraw();
  }

  get x(): Range {
    return this.window.now;
  }

  get target(): Range {
    return this.window.target;
  }
}
