// What the Growth view asks, once per device.
import type { GrowthAnswer } from "../../api/growth";
import { follow, page, place } from "../page/store";

export const growth = follow<GrowthAnswer>(() =>
  page.value.view === "growth" && place.value
    ? { path: "growth", params: { ...place.value } }
    : null,
);
